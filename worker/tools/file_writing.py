"""Replacing a file whole: at every instant it holds either the old content or the new."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import fcntl
import os
import secrets
import stat
import time
from collections.abc import AsyncIterator

from worker.tools.text_files import UnusableFileError

_FIRST_WAIT_SECONDS = 0.002
_LONGEST_WAIT_SECONDS = 0.05


@contextlib.asynccontextmanager
async def folder_held(path: str, timeout: float) -> AsyncIterator[None]:
    """Keep every other agent, in this process or another, from changing files in the folder of `path`.

    The lock is on the folder itself, so it leaves nothing behind. The body must not await: a holder that is
    cancelled or slow would stop all others.
    """
    descriptor = os.open(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        await _lock(descriptor, path, timeout)
        yield
    finally:
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_UN)
        os.close(descriptor)


async def _lock(descriptor: int, path: str, timeout: float) -> None:
    deadline = time.monotonic() + timeout
    wait = _FIRST_WAIT_SECONDS
    while not _try_lock(descriptor):
        if time.monotonic() >= deadline:
            raise UnusableFileError(
                f"{path} is being changed by somebody else for {timeout:g} s now; try again later."
            )
        await asyncio.sleep(wait)
        wait = min(wait * 2, _LONGEST_WAIT_SECONDS)


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
            return False
        if error.errno in (errno.EBADF, errno.ENOLCK, errno.ENOTSUP, errno.EINVAL):
            return True  # a file system without locks on folders; what was read is still compared
        raise
    return True


def replace_file(path: str, data: bytes, old: os.stat_result | None) -> os.stat_result:
    """Put `data` at the real path `path` by rename and return the new file's status.

    `old` is the status of the file that is replaced: its mode, and as far as the system permits its owner,
    are kept. Raises OSError when the system refuses, a full disk included; then the old file is untouched.
    """
    folder, name = os.path.split(path)
    temporary = os.path.join(folder, f".{name[:40]}.{os.getpid()}.{secrets.token_hex(4)}.tmp")
    descriptor = os.open(
        temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666 if old is None else 0o600
    )
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            if old is not None:
                _keep_owner_and_mode(descriptor, old)
            os.fsync(descriptor)
            status = os.fstat(descriptor)
        os.rename(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    return status


def _keep_owner_and_mode(descriptor: int, old: os.stat_result) -> None:
    now = os.fstat(descriptor)
    if (now.st_uid, now.st_gid) != (old.st_uid, old.st_gid):
        with contextlib.suppress(PermissionError):
            os.fchown(descriptor, old.st_uid, old.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(old.st_mode))
