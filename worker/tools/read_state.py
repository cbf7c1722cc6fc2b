"""What a session has seen of which file: the ground on which it may write to it.

Keyed by real path, so that a file seen through a link is known by its own name too.
"""

from __future__ import annotations

import hashlib
import os

from swarm.values import Value
from worker.tools.current import current_call


class FileStamp(Value):
    """A file as it was when the session last saw or wrote it."""

    path: str
    digest: str
    mtime_ns: int
    size: int


def digest_of(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()


class ReadState:
    """The stamps of one session."""

    def __init__(self) -> None:
        self._stamps: dict[str, FileStamp] = {}
        self._by_call: dict[str, FileStamp] = {}

    def note(self, path: str, digest: str, status: os.stat_result) -> None:
        """Remember the content with this digest as known to the session. `status` is from before the read."""
        real = os.path.realpath(path)
        stamp = FileStamp(path=real, digest=digest, mtime_ns=status.st_mtime_ns, size=status.st_size)
        self._put(stamp)
        call = current_call.get(None)
        if call is not None:
            self._by_call[call] = stamp

    def recall(self, path: str, digest: str) -> None:
        """Take over what an earlier session that this one goes on from knew; the content decides then."""
        self._put(FileStamp(path=path, digest=digest, mtime_ns=-1, size=-1))

    def noted_by(self, call: str) -> FileStamp | None:
        """Return what this call made known."""
        return self._by_call.get(call)

    def _put(self, stamp: FileStamp) -> None:
        self._stamps.pop(stamp.path, None)  # so that it comes last
        self._stamps[stamp.path] = stamp

    def find(self, path: str) -> FileStamp | None:
        return self._stamps.get(os.path.realpath(path))

    def list_stamps(self) -> tuple[FileStamp, ...]:
        """Return all stamps, the oldest first."""
        return tuple(self._stamps.values())
