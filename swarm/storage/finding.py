"""What an examination finds: one thing that is not as it should be, and how it can be mended."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from swarm.core.ports import Clock
from swarm.core.times import format_time
from swarm.errors import LockTimeoutError
from swarm.settings import Settings
from swarm.storage import files, syscalls
from swarm.storage.lock import FileLock
from swarm.storage.team import Team
from swarm.values import Value

_PAUSE_SECONDS = 0.002

Held = dict[str, LockTimeoutError]
"""The locks that were waited for in vain, by path; none of them is waited for again, only tried."""


class Finding(Value):
    """`kind` is a stable word. `remedy` says what is so after mending; without it people have to look.

    A `warning` may well be so on purpose, and does no harm by itself.
    """

    kind: str
    path: str
    what: str
    remedy: str = ""
    warning: bool = False
    mend: Callable[[], object] | None = None

    @property
    def key(self) -> tuple[str, str]:
        """What a second examination finds it by."""
        return self.kind, self.path


@contextmanager
def undisturbed(path: str, settings: Settings, clock: Clock, held: Held) -> Iterator[None]:
    """Keep the users of a lock out without writing to its file; without one there are none.

    Raises:
        LockTimeoutError: somebody held it for as long as the settings allow, or holds it still (`held`).

    """
    fd = syscalls.find_file(path, os.O_RDONLY)
    if fd is None:
        yield
        return
    try:
        _wait_for(fd, path, settings, clock, held)
        try:
            yield
        finally:
            syscalls.unlock(fd)
    finally:
        syscalls.close(fd)


def _wait_for(fd: int, path: str, settings: Settings, clock: Clock, held: Held) -> None:
    started = clock.monotonic()
    while not syscalls.lock_now(fd, path):
        waited = clock.monotonic() - started
        if path in held:
            raise held[path]
        if waited >= settings.lock_timeout_seconds:
            holder = FileLock(path, settings, clock, "doctor").holder()
            held[path] = LockTimeoutError(path, waited, holder)
            raise held[path]
        time.sleep(_PAUSE_SECONDS)


def set_aside(team: Team, path: str) -> str:
    """Move what is damaged or odd into the team's folder for that, and return where it is now."""
    place = _free_place(team, path)
    syscalls.rename(path, place)
    return place


def keep_copy(team: Team, path: str, data: bytes) -> str:
    """Write these bytes of a file to where damaged things are kept, before they go."""
    place = _free_place(team, path)
    files.write_draft(place, data)
    return place


def set_aside_dir(team: Team) -> str:
    return f"{team.layout.team_dir}/set-aside"


def _free_place(team: Team, path: str) -> str:
    folder = set_aside_dir(team)
    syscalls.make_folder(folder)
    stamp = format_time(team.clock.now()).replace(":", "")
    first = place = f"{folder}/{os.path.basename(path)}.{stamp}"
    number = 1
    while os.path.lexists(place):
        number += 1
        place = f"{first}-{number}"
    return place
