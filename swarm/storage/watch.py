"""Hints that files of a team may have changed, so that nobody has to look all the time.

A hint is never the truth: it may come for nothing, and it may fail to come (a network mount, no inotify
left). Whoever waits also looks by itself, each `idle_check_seconds`.
"""

from __future__ import annotations

import errno
import os
import select
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol, Self

from swarm.storage.layout import TeamLayout

if TYPE_CHECKING:
    from inotify_simple import INotify

_SPENT = {
    errno.EMFILE: "no inotify instance is left (fs.inotify.max_user_instances, or open files)",
    errno.ENFILE: "the system has too many open files",
    errno.ENOSPC: "no inotify watch is left (fs.inotify.max_user_watches)",
}
_GONE = frozenset({errno.ENOENT, errno.ENOTDIR})


class Loop(Protocol):
    """What is needed of an event loop; this package imports none."""

    def add_reader(self, fd: int, callback: Callable[[], object], /) -> object: ...

    def remove_reader(self, fd: int, /) -> object: ...


class Watch:
    """Watches some files through the folders they lie in, never what is below. A context manager.

    A file may be missing, and may be replaced; its folder must be there now. Not safe for threads.
    `problem` tells in one sentence why there will be no hints, where there could be some.
    """

    def __init__(self, paths: Iterable[str]) -> None:
        self.problem: str | None = None
        self._inotify: INotify | None = None
        self._names: dict[int, set[str]] = {}
        if sys.platform == "linux":
            try:
                self._open(tuple(paths))
            except OSError as error:
                self.close()
                self.problem = f"changes are seen a little later: {_SPENT.get(error.errno or 0, str(error))}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _open(self, paths: tuple[str, ...]) -> None:
        from inotify_simple import INotify, flags

        mask = flags.MODIFY | flags.MOVED_TO | flags.ONLYDIR
        self._inotify = INotify(nonblocking=True)  # close-on-exec, as all descriptors of ours
        for path in paths:
            folder, name = os.path.split(path)
            try:
                watch = self._inotify.add_watch(folder, mask)
            except OSError as error:
                if error.errno not in _GONE:
                    raise
            else:
                self._names.setdefault(watch, set()).add(name)

    def close(self) -> None:
        """Stop watching; nothing but the time passes then in `wait`."""
        if self._inotify is not None:
            self._inotify.close()
            self._inotify = None

    def take(self) -> bool:
        """Take all that has come, however much, and tell whether it is about one of the files. Never waits.

        When the kernel had to drop something, or a folder is gone, it may be about any of them.
        """
        if self._inotify is None:
            return False
        events = self._inotify.read(timeout=0)
        return any(event.name in self._names.get(event.wd, ()) or not event.name for event in events)

    def wait(self, seconds: float) -> bool:
        """Wait for a hint at most so long and tell whether there was one."""
        if self._inotify is None:
            time.sleep(max(seconds, 0.0))
            return False
        poll = select.poll()
        poll.register(self._inotify, select.POLLIN)
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            if poll.poll(left * 1000) and self.take():
                return True
        return self.take()

    @contextmanager
    def telling(self, loop: Loop, tell: Callable[[], object]) -> Iterator[None]:
        """While the block runs, call `tell` from this event loop at a hint; for a burst not often."""
        if self._inotify is None:
            yield
            return
        fd = self._inotify.fileno()
        loop.add_reader(fd, lambda: self.take() and tell())
        try:
            yield
        finally:
            loop.remove_reader(fd)


def files_of_agents(layout: TeamLayout, names: Iterable[str]) -> list[str]:
    """Return the files in which something to do for these agents appears: the journal, and their mail."""
    mail = (path for name in names for path in (layout.inbox(name), layout.overflow(name)))
    return [layout.journal, *mail]
