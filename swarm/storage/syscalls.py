"""The one thin layer over the calls that change or read the team's files.

Expected outcomes (missing, already there) are values; every other `OSError` becomes a `StorageIOError`
with path and errno. A test may put a hook in front of every call, to fail or to die there.
"""

from __future__ import annotations

import errno
import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TypeVar

from swarm.errors import StateError, StorageIOError

FILE_MODE = 0o600
FOLDER_MODE = 0o700
_NO_LOCKS = frozenset({errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP})
"""What `flock` says on file systems that have no locks, or no service for them."""

_BY_PATH = frozenset({"open", "create", "stat", "list", "scan"})
_PAUSE = 0.002

Hook = Callable[[str, str, int], int | None]
"""Called with name, path and size (of a write, else 0) before each call.

It may raise `OSError`, end the process, or return how many bytes of this write are to be written at most:
the rest is a further call, as after a short write of the kernel.
"""

_T = TypeVar("_T")
_hooks: list[Hook] = []


@contextmanager
def fault_hook(hook: Hook) -> Iterator[None]:
    """Put `hook` in front of every call of this process while the block runs."""
    _hooks.append(hook)
    try:
        yield
    finally:
        _hooks.remove(hook)


def _call(name: str, path: str, function: Callable[..., _T], *args: object) -> _T:
    try:
        if _hooks:
            _hooks[-1](name, path, 0)
        return function(*args)
    except OSError as error:
        if error.errno == errno.ESTALE and name in _BY_PATH:
            return _once_more(name, path, function, *args)
        raise StorageIOError(path, error) from error


def _once_more(name: str, path: str, function: Callable[..., _T], *args: object) -> _T:
    """Look at a path again that a network mount knew as a file that is gone: it has to ask now."""
    time.sleep(_PAUSE)
    try:
        if _hooks:
            _hooks[-1](name, path, 0)
        return function(*args)
    except OSError as error:
        raise StorageIOError(path, error) from error


def _find(name: str, path: str, function: Callable[..., _T], *args: object) -> _T | None:
    try:
        return _call(name, path, function, *args)
    except StorageIOError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            return None
        raise


def _make(name: str, path: str, function: Callable[..., object], *args: object) -> bool:
    try:
        _call(name, path, function, *args)
    except StorageIOError as error:
        if isinstance(error.__cause__, FileExistsError):
            return False
        raise
    return True


def find_file(path: str, flags: int) -> int | None:
    """Open an existing file, close-on-exec; None when it is missing."""
    return _find("open", path, os.open, path, flags)


def create_file(path: str, flags: int) -> int:
    """Open a file that may be new; a new one is 0600 whatever the umask."""
    found = find_file(path, flags)
    if found is not None:
        return found
    return _new_file(path, flags | os.O_CREAT)


def create_draft(path: str) -> int:
    """Open a file of this process's own for writing, empty; what a dead namesake left in it is dropped."""
    return _new_file(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW)


def _new_file(path: str, flags: int) -> int:
    fd = _call("create", path, os.open, path, flags, FILE_MODE)
    os.fchmod(fd, FILE_MODE)
    return fd


def close(fd: int) -> None:
    """Close without a hook: it runs in `finally` blocks and must not hide what went wrong there."""
    os.close(fd)


def read_at(fd: int, path: str, size: int, offset: int) -> bytes:
    """Read up to `size` bytes; fewer only at the end of the file."""
    data = _call("read", path, os.pread, fd, size, offset)
    if not data or len(data) >= size:
        return data
    parts = [data]
    missing = size - len(data)
    while missing > 0:
        data = _call("read", path, os.pread, fd, missing, offset + size - missing)
        if not data:
            break
        parts.append(data)
        missing -= len(data)
    return b"".join(parts)


def _write_all(name: str, path: str, data: bytes, write: Callable[[bytes, int], int]) -> None:
    done = 0
    while done < len(data):
        part = data[done:] if done else data
        try:
            limit = _hooks[-1](name, path, len(part)) if _hooks else None
            done += write(part if limit is None else part[:limit], done)
        except OSError as error:
            raise StorageIOError(path, error) from error


def write_at(fd: int, path: str, data: bytes, offset: int) -> None:
    """Write all of `data` at `offset`; atomic against SIGKILL only inside one page."""
    _write_all("write", path, data, lambda part, done: os.pwrite(fd, part, offset + done))


def append(fd: int, path: str, data: bytes) -> None:
    """Write all of `data` at the end (of a descriptor opened for appending)."""
    _write_all("append", path, data, lambda part, _done: os.write(fd, part))


def truncate(fd: int, path: str, size: int) -> None:
    _call("truncate", path, os.ftruncate, fd, size)


def stat_file(fd: int, path: str) -> os.stat_result:
    return _call("fstat", path, os.fstat, fd)


def find_stat(path: str) -> os.stat_result | None:
    """Return what a path leads to; None when there is nothing."""
    return _find("stat", path, os.stat, path)


def rename(old: str, new: str) -> None:
    _call("rename", new, os.rename, old, new)


def link(old: str, new: str) -> bool:
    """Give a file a second name; False when that name is taken, by whomever."""
    return _make("link", new, os.link, old, new)


def symlink(target: str, path: str) -> None:
    _call("symlink", path, os.symlink, target, path)


def unlink(path: str) -> bool:
    """Remove a name; False when it was not there."""
    try:
        _call("unlink", path, os.unlink, path)
    except StorageIOError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            return False
        raise
    return True


def make_folder(path: str) -> bool:
    """Make a folder, 0700 whatever the umask; False when it was there."""
    made = _make("mkdir", path, os.mkdir, path, FOLDER_MODE)
    if made:
        os.chmod(path, FOLDER_MODE)
    return made


def make_folders(path: str) -> None:
    """Make a folder and what is missing above it."""
    if find_stat(path) is None:
        make_folders(os.path.dirname(path))
        make_folder(path)


def remove_empty_folder(path: str) -> bool:
    """Remove a folder; False when there is something in it."""
    try:
        _call("rmdir", path, os.rmdir, path)
    except StorageIOError as error:
        if error.details["errno"] in (errno.ENOTEMPTY, errno.EEXIST):
            return False
        raise
    return True


def list_folder(path: str) -> list[str]:
    """Return the names in a folder, unsorted; none when it is missing."""
    return _find("list", path, os.listdir, path) or []


def scan_folder(path: str) -> list[tuple[str, os.stat_result]]:
    """Return the names in a folder, unsorted, with what each leads to; without those that go meanwhile."""
    return _find("scan", path, _scan, path) or []


def _scan(path: str) -> list[tuple[str, os.stat_result]]:
    found = []
    with os.scandir(path) as entries:
        for entry in entries:
            with suppress(FileNotFoundError):
                found.append((entry.name, entry.stat()))
    return found


def sync_data(fd: int, path: str) -> None:
    """Wait until the file's content would survive a power loss."""
    _call("sync", path, os.fdatasync if hasattr(os, "fdatasync") else os.fsync, fd)


def lock_now(fd: int, path: str) -> bool:
    """Take the kernel's lock on an open file if it is free; False when somebody holds it.

    Where files cannot be locked nothing is safe: a StateError that says so, and nothing is changed.
    """
    try:
        _call("lock", path, fcntl.flock, fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except StorageIOError as error:
        if isinstance(error.__cause__, BlockingIOError):
            return False
        if error.details["errno"] in _NO_LOCKS:
            raise _cannot_lock(error) from error
        raise
    return True


def _cannot_lock(error: StorageIOError) -> StateError:
    return StateError(
        f"{error.message}; files cannot be locked there: "
        "move the teams to a local disk, by setting CLAUDE_CONFIG_DIR",
        code="io_error",
        details=error.details,
    )


def unlock(fd: int) -> None:
    """Give the kernel's lock back; without a hook, as `close`. Where there are no locks none is held."""
    try:
        fcntl.flock(fd, fcntl.LOCK_UN)
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
