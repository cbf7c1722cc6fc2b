"""Hooks for the storage's system calls: count them, fail at one, die at one."""

from __future__ import annotations

import ctypes
import errno
import os
import signal
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import NamedTuple

from swarm.storage.syscalls import fault_hook

_LOOKS = frozenset({"open", "stat", "fstat", "read", "list", "scan", "lock"})
"""Calls that change nothing: a process that dies at one leaves what it would leave at the next other one."""

_NEEDS_ROOM = frozenset({"create", "append", "write", "mkdir", "link", "symlink", "rename"})


class Point(NamedTuple):
    """A place in a run of calls: before the call of this number, or inside it after `keep` bytes."""

    number: int
    call: str
    keep: int | None = None


class Recorder:
    """Lets everything pass and remembers what passed."""

    def __init__(self) -> None:
        self._calls: list[tuple[str, int]] = []

    def __call__(self, call: str, path: str, size: int) -> None:
        self._calls.append((call, size))

    def points(self) -> list[Point]:
        """Return every call, and for each append also places inside it; other writes stay within one page."""
        found: list[Point] = []
        for number, (call, size) in enumerate(self._calls):
            found.append(Point(number, call))
            inside = dict.fromkeys((1, size // 2, size - 1)) if call == "append" else ()
            found += [Point(number, call, keep) for keep in inside if 0 < keep < size]
        return found

    def changing_points(self) -> list[Point]:
        """Return the points that differ in what is on disk: before each call that changes it, and inside."""
        return [point for point in self.points() if point.call not in _LOOKS]

    def growing_points(self) -> list[Point]:
        """Return the points at which a full disk refuses to go on."""
        return [point for point in self.points() if point.call in _NEEDS_ROOM]


class _At(ABC):
    def __init__(self, point: Point) -> None:
        self._point = point
        self._number = -1
        self._begun = False

    def __call__(self, call: str, path: str, size: int) -> int | None:
        if not self._begun:
            self._number += 1
            if self._number != self._point.number:
                return None
            self._begun = True
            if self._point.keep is not None:
                return self._point.keep
        self._hit(path)
        return None

    @abstractmethod
    def _hit(self, path: str) -> None:
        """Do the harm: at the call, or after the bytes that may still be written."""


class FailAt(_At):
    """Refuses one call, or with `lasting` all from there on, as a full disk does."""

    def __init__(self, point: Point, *, code: int = errno.ENOSPC, lasting: bool = False) -> None:
        super().__init__(point)
        self._code = code
        self._lasting = lasting
        self._refused = False

    def _hit(self, path: str) -> None:
        if not self._refused or self._lasting:
            self._refused = True
            raise OSError(self._code, "refused by the test", path)


class FullDisk(FailAt):
    """Refuses from there on all that needs room; reading and removing go on."""

    def __init__(self, point: Point) -> None:
        super().__init__(point, lasting=True)

    def __call__(self, call: str, path: str, size: int) -> int | None:
        if self._begun and call not in _NEEDS_ROOM:
            return None
        return super().__call__(call, path, size)


class KillAt(_At):
    """Ends the process as `kill -9` does."""

    def _hit(self, path: str) -> None:
        os.kill(os.getpid(), signal.SIGKILL)


def die_at(point: Point, deed: Callable[..., object], *args: object) -> None:
    """Do this, with these arguments, in a forked child that is killed at this place."""
    child = os.fork()
    if child == 0:
        ends_with_parent()
        with fault_hook(KillAt(point)):
            deed(*args)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status), point
    assert os.WTERMSIG(status) == signal.SIGKILL, point


def ends_with_parent() -> None:
    """Let the kernel kill this forked child when its parent ends, as it does when a test takes too long."""
    set_parent_death_signal = 1
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(set_parent_death_signal, signal.SIGKILL)
