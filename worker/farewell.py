"""What a worker does for the server of its pane when nobody else is left to do it."""

from __future__ import annotations

import os
import signal
import time

_LOOK_SECONDS = 0.02
_GIVEN_UP_SECONDS = 10.0
_ROUNDS = 3
_BETWEEN_SECONDS = 0.2


def nudge_when_gone() -> None:
    """Leave a process behind that has our parent look for ended children a moment after our end.

    tmux was seen to miss that one of several has ended; its pane, and so the server, then stay for good.
    """
    server, us = os.getppid(), os.getpid()
    if os.fork() == 0:
        try:
            _wait_and_nudge(server, us)
        finally:
            os._exit(0)


def _wait_and_nudge(server: int, parent: int) -> None:
    os.setsid()
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in range(3):  # who holds the terminal open keeps the pane
        os.dup2(nowhere, number)
    deadline = time.monotonic() + _GIVEN_UP_SECONDS
    while os.getppid() == parent and time.monotonic() < deadline:
        time.sleep(_LOOK_SECONDS)
    for _ in range(_ROUNDS):
        time.sleep(_BETWEEN_SECONDS)
        os.kill(server, signal.SIGCHLD)
