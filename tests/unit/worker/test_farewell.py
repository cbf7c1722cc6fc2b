"""The last that a worker does for the server of its pane."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from types import FrameType

from swarm.testing.wait import wait_until
from tests.support.command import REPOSITORY

BORN = "from worker.farewell import nudge_when_gone; nudge_when_gone()"


def test_the_server_is_told_to_look_after_the_end() -> None:
    """Here the test is the server: it hears of its child once more when that is long gone."""
    heard: list[float] = []

    def hear(_number: int, _frame: FrameType | None) -> None:
        heard.append(time.monotonic())

    before = signal.signal(signal.SIGCHLD, hear)
    try:
        with subprocess.Popen([sys.executable, "-c", BORN], cwd=REPOSITORY, stdout=subprocess.PIPE) as child:
            assert child.stdout is not None
            assert child.stdout.read() == b""  # nobody keeps its terminal open
            gone = child.wait(10) == 0 and time.monotonic()
        wait_until(lambda: any(at > gone + 0.1 for at in heard), timeout=5, what="the server is told")
    finally:
        signal.signal(signal.SIGCHLD, before)
