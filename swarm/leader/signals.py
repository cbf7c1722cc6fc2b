"""What Ctrl-C, `kill` and a closed terminal do to a run before its loop listens."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class _Interrupt:
    """The one interrupt that the first signal is; while `held` it waits."""

    def __init__(self) -> None:
        self.held = False
        self._waits = False
        self._came = False

    def hear(self, *_ignored: object) -> None:
        self._waits = not self._came
        self.act()

    def act(self) -> None:
        if self._waits and not self.held:
            self._waits, self._came = False, True
            raise KeyboardInterrupt


_heard: list[_Interrupt] = []


def heeded() -> list[signal.Signals]:
    """Return those signals that end a run: not one that is ignored, as `nohup` wants it."""
    return [number for number in ENDING if signal.getsignal(number) is not signal.SIG_IGN]


@contextmanager
def interrupting() -> Iterator[None]:
    """Have the first of these signals raise KeyboardInterrupt, and no other disturb what that undoes."""
    interrupt = _Interrupt()
    before = {number: signal.getsignal(number) for number in heeded()}
    for number in before:
        signal.signal(number, interrupt.hear)
    _heard.append(interrupt)
    try:
        yield
    finally:
        _heard.remove(interrupt)
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def held_back() -> Iterator[None]:
    """Let that interrupt come only when the block has ended; what it made is known by then."""
    for interrupt in _heard:
        interrupt.held = True
    try:
        yield
    finally:
        for interrupt in _heard:
            interrupt.held = False
    for interrupt in _heard:
        interrupt.act()
