"""A child in the background that keeps the output open does not hold up the result of its command."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from tests.support.tools import ToolBench, make_team


@pytest.fixture
def bench(tmp_path: Path) -> ToolBench:
    work = tmp_path / "work"
    return ToolBench(make_team(tmp_path / "root", work), work)


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("sleep 300 & echo $! > child; echo hi", "hi"),
        ("sleep 300 > /dev/null 2>&1 & echo $! > child; echo hi", "hi"),
        ("setsid sleep 300 & echo $! > child; echo hi", "hi"),
        ("nohup sleep 300 & echo $! > child", None),
    ],
    ids=["keeps the output open", "silent", "in its own session", "says nothing"],
)
async def test_the_result_comes_when_the_command_ends(
    bench: ToolBench, command: str, shown: str | None
) -> None:
    started = time.monotonic()
    text = await bench.ok("Bash", command=command)
    took = time.monotonic() - started

    child = int((bench.workspace / "child").read_text())
    try:
        assert took < 3
        assert shown is None or text.splitlines()[0] == shown
        assert "still running in the background" in text
        os.kill(child, 0)  # it was left alone
    finally:
        os.kill(child, signal.SIGKILL)
