"""What a dead agent's commands left running is found by what is on record of them, and by their mark."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator

import pytest

from swarm.core.agent import AgentRecord, ToolProcess
from swarm.core.identity import make_run_id
from swarm.storage.processes import new_run
from swarm.workspace.leftovers import end_leftovers
from swarm.workspace.processes import start_ticks

RUN_ID = make_run_id(new_run(), "w1", 1)


def a_life(*tools: ToolProcess) -> AgentRecord:
    return AgentRecord(
        name="w1",
        run_id=RUN_ID,
        backend="process",
        state="working",
        since="2026-11-30T12:31:02.410Z",
        tools=tools,
    )


def as_tool(process: subprocess.Popen, ticks: int | None) -> ToolProcess:
    return ToolProcess(tool_use_id="toolu_01", name="Bash", since="", pgid=process.pid, start_ticks=ticks)


@pytest.fixture
def start() -> Iterator:
    started: list[subprocess.Popen] = []

    def begin(**environ: str) -> subprocess.Popen:
        env = {"PATH": os.environ["PATH"]} | environ
        started.append(subprocess.Popen(["sleep", "60"], env=env, start_new_session=True))
        return started[-1]

    yield begin
    for process in started:
        process.kill()
        process.wait()


def test_recorded_commands_and_marked_ones_end(start) -> None:
    """A command may have cleared its environment; a child may have left its group."""
    recorded, marked = start(), start(SWARM_RUN_ID=RUN_ID)

    assert end_leftovers(a_life(as_tool(recorded, start_ticks(recorded.pid))), wait=2.0) == ()

    assert (recorded.wait(5), marked.wait(5)) == (-9, -9)


def test_others_are_not_touched(start) -> None:
    """Neither a later life, nor who has the number of a command by now."""
    later, reused = start(SWARM_RUN_ID=f"{RUN_ID}1"), start()
    ticks = start_ticks(reused.pid)
    assert ticks is not None

    end_leftovers(a_life(as_tool(reused, ticks - 1), as_tool(reused, None)), wait=2.0)

    assert (later.poll(), reused.poll()) == (None, None)
