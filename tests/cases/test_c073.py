"""When a command times out, everything that it started is gone, and the result says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from swarm.testing.wait import wait_until
from tests.support.tools import ToolBench, make_team


@pytest.fixture
def bench(tmp_path: Path) -> ToolBench:
    work = tmp_path / "work"
    return ToolBench(make_team(tmp_path / "root", work), work)


def running_with(mark: str) -> list[int]:
    """Return the processes whose environment holds the mark; a zombie has none."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                if mark.encode() in (folder / "environ").read_bytes():
                    found.append(int(folder.name))
            except OSError:
                continue
    return found


@pytest.mark.parametrize(
    "command",
    [
        "(while :; do :; done) & (while :; do :; done) & sleep 60",
        "setsid sleep 60 & (sleep 60 &) ; sleep 60",
        "trap '' TERM HUP INT; sleep 60",
        "nohup sh -c 'sleep 60; touch late' & wait",
    ],
    ids=["busy loops", "own session and orphan", "ignores signals", "nohup"],
)
async def test_no_child_outlives_the_time_limit(bench: ToolBench, command: str) -> None:
    mark = f"C073={bench.workspace}"
    bench.context.environ["C073"] = str(bench.workspace)

    text = await bench.error("Bash", command=command, timeout=500)

    assert "timed out after 0.5 s" in text
    assert "with all its children" in text
    wait_until(lambda: running_with(mark) == [], timeout=3.0)
    assert not (bench.workspace / "late").exists()
