"""One lock for everything: a kernel lock (`flock`) with a time limit, and a thread lock in front of it.

The kernel drops it with its process, so nothing is left to clean up after a kill. Every lock file carries
in bytes 64 to 127 who took it last: `pid start_ticks name`.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from swarm.core.ports import Clock
from swarm.errors import LockTimeoutError, StateError
from swarm.settings import Settings
from swarm.storage import network, processes, syscalls

HOLDER_OFFSET = 64
HOLDER_SIZE = 64
_FIRST_PAUSE = 0.0002
_PAUSE = 0.001
"""How long a waiter sleeps between two looks.

A worker that a change has woken meets the writer, who is mostly done at the second look. Where many wait,
looking more often takes the processor from the holder; and being woken by the kernel, one after the other,
makes each change of the store cost a change of processes.
"""


class _Shared:
    """What all `FileLock`s of one path share in one process: a second `flock` of ours would be granted."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.users = 0
        self.threads = threading.Lock()
        self.owner: int | None = None  # the thread inside
        self.fd: int | None = None
        self.file: tuple[int, int] | None = None  # which one the descriptor leads to

    def forget(self) -> None:
        """Drop what a forked child inherited: unlocking there would release the parent's lock."""
        if self.fd is not None:
            os.close(self.fd)
        self.threads, self.owner, self.fd = threading.Lock(), None, None

    def drop_file(self) -> None:
        """Unlock before closing: a child between its fork and exec may hold the descriptor open."""
        if self.fd is not None:
            fd, self.fd = self.fd, None
            syscalls.unlock(fd)
            os.close(fd)


_shared: dict[str, _Shared] = {}
_shared_guard = threading.RLock()  # a lock may be collected, and left, while another one is joined


def _join(path: str) -> _Shared:
    folder, name = os.path.split(path)
    real = f"{os.path.realpath(folder)}/{name}"
    with _shared_guard:
        shared = _shared.setdefault(real, _Shared(real))
        shared.users += 1
        return shared


def _leave(shared: _Shared) -> None:
    """Close the file with its last user: a long-lived process meets many teams."""
    with _shared_guard:
        shared.users -= 1
        if shared.users == 0:
            _shared.pop(shared.path, None)
            shared.drop_file()


def _forget_all() -> None:
    global _shared_guard  # noqa: PLW0603 - another thread may have held it at the fork
    _shared_guard = threading.RLock()
    for shared in _shared.values():
        shared.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)


class FileLock:
    """A lock by path. A context manager; not reentrant; no `await` between taking and release.

    Held across awaits only by way of `try_acquire`, which never waits.
    """

    def __init__(self, path: str, settings: Settings, clock: Clock, holder_name: str) -> None:
        self.path = path
        self._settings = settings
        self._clock = clock
        self._holder_name = holder_name
        self._common = _join(path)
        self._held = False
        self._signature = 0, b""  # of the process with this pid

    def __del__(self) -> None:
        common = self.__dict__.get("_common")
        if common is not None:
            _leave(common)

    @property
    def fd(self) -> int:
        """The lock file while the lock is held; bytes 0 to 63 are the holder's to use."""
        if self._common.fd is None:
            raise RuntimeError(f"{self.path} is not locked")
        return self._common.fd

    def __enter__(self) -> Self:
        self.acquire()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    def acquire(self, meanwhile: Callable[[], object] | None = None) -> None:
        """Take the lock; LockTimeoutError, naming the holder, when that takes longer than the settings say.

        A thread that holds it already is refused at once: waiting for itself would not help. Who has to wait
        does `meanwhile` between two looks: something that would else have to be done under the lock.
        """
        if not self.try_acquire():
            self._wait(meanwhile)

    def try_acquire(self) -> bool:
        """Take the lock if it is free right now."""
        return self._try_threads() and self._try_kernel()

    def _try_threads(self) -> bool:
        taken = self._common.threads.acquire(blocking=False)
        if taken:
            self._common.owner = threading.get_ident()
        return taken

    def _wait(self, meanwhile: Callable[[], object] | None) -> None:
        if self._common.owner == threading.get_ident():
            raise LockTimeoutError(self.path, 0.0, self._holder_name)
        started, pause = self._clock.monotonic(), _FIRST_PAUSE
        while not self.try_acquire():
            waited = self._clock.monotonic() - started
            if waited >= self._settings.lock_timeout_seconds:
                raise LockTimeoutError(self.path, waited, self.holder())
            if meanwhile is not None:
                meanwhile()
            time.sleep(pause)
            pause = _PAUSE

    def _try_kernel(self) -> bool:
        """Go on from the thread lock, and leave that again unless all is well."""
        try:
            self._held = self._flock()
        except BaseException:
            self._common.drop_file()
            raise
        finally:
            if not self._held:
                self._leave_threads()
        return self._held

    def _flock(self) -> bool:
        """Lock the file that the path names now: it may have gone with a deleted team, and come back."""
        common = self._common
        was_new = common.fd is None
        if common.fd is None:
            common.fd = syscalls.create_file(self.path, os.O_RDWR)
            common.file = _identity(syscalls.stat_file(common.fd, self.path))
        try:
            if not syscalls.lock_now(common.fd, self.path):
                return False
        except StateError as error:
            if was_new or not network.is_stale(error):
                raise
            common.drop_file()  # another host has removed it
            return self._flock()
        named = syscalls.find_stat(self.path)
        if named is None or _identity(named) != common.file:
            common.drop_file()
            return self._flock()
        self._sign()
        return True

    def _sign(self) -> None:
        pid = os.getpid()
        if self._signature[0] != pid:
            text = f"{pid} {processes.own_start_ticks()} {self._holder_name}".encode()
            self._signature = pid, text[:HOLDER_SIZE].ljust(HOLDER_SIZE)
        syscalls.write_at(self.fd, self.path, self._signature[1], HOLDER_OFFSET)

    def release(self) -> None:
        """Give the lock back. In a child forked meanwhile, which does not hold it, this does nothing."""
        if not self._held:
            return
        self._held = False
        if self._common.owner is None:
            return
        try:
            if self._common.fd is not None:
                syscalls.unlock(self._common.fd)
        finally:
            self._leave_threads()

    def _leave_threads(self) -> None:
        self._common.owner = None
        self._common.threads.release()

    def holder(self) -> str | None:
        """Return who took the lock last, as `name (pid 4711)`; None when nobody is recorded."""
        fd = syscalls.find_file(self.path, os.O_RDONLY)
        if fd is None:
            return None
        try:
            text = syscalls.read_at(fd, self.path, HOLDER_SIZE, HOLDER_OFFSET).decode("utf-8", "replace")
        finally:
            syscalls.close(fd)
        pid, _, rest = text.strip("\0 ").partition(" ")
        name = rest.partition(" ")[2]
        return f"{name} (pid {pid})" if pid.isdigit() and name else None


def _identity(state: os.stat_result) -> tuple[int, int]:
    return state.st_ino, state.st_dev
