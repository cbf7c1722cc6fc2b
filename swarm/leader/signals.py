"""What Ctrl-C, `kill` and a closed terminal do to a run before its loop listens."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def heeded() -> list[signal.Signals]:
    """Return those signals that end a run: not one that is ignored, as `nohup` wants it."""
    return [number for number in ENDING if signal.getsignal(number) is not signal.SIG_IGN]


@contextmanager
def interrupting() -> Iterator[None]:
    """Have the first of these signals raise KeyboardInterrupt, and no other disturb what that undoes."""
    before = {number: signal.getsignal(number) for number in heeded()}
    came = False

    def interrupt(*_ignored: object) -> None:
        nonlocal came
        if not came:
            came = True
            raise KeyboardInterrupt

    for number in before:
        signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def held_back() -> Iterator[None]:
    """Let these signals come only when the block has ended; what it made is known by then."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
