"""Recovery gave the dead worker's task back, and then handed it to the same dead worker, for ever."""

from __future__ import annotations

from pathlib import Path

import pytest

from swarm.storage.processes import start_ticks
from swarm.testing.wait import wait_until
from tests.support.live_team import LiveTeam
from tests.support.own_process import OwnProcess

pytestmark = pytest.mark.timeout(60)

SLEEPS_ONCE = "[ -e began ] && exit 0; echo $$ > pid; touch began; sleep 600"
TASKS = [
    {
        "key": "a",
        "subject": "Do it",
        "script": [{"calls": [{"Bash": {"command": SLEEPS_ONCE}}]}, {"say": "Done."}],
    },
    {"key": "b", "subject": "Go on", "script": [{"say": "On."}], "blocked_by": ["a"]},
]


def test_the_task_of_a_killed_worker_goes_to_one_that_is_alive(isolated_home: Path) -> None:
    """The member stays on the roster with its record; it is shown as ended, and gets nothing any more."""
    team = LiveTeam(
        isolated_home,
        permissions={"mode": "bypassPermissions"},
        teammates=[{"name": "w1"}, {"name": "w2"}],
        tasks=TASKS,
    )
    with OwnProcess(team, "w1") as w1:
        wait_until((team.workspace / "began").exists, timeout=15, what="w1 is in its command")
        with OwnProcess(team, "w2") as w2:
            w2.until_idle()
            w1.kill()

            wait_until(lambda: team.task("a").owner == "w2", timeout=15, what="w2 has it")
            assert start_ticks(int((team.workspace / "pid").read_text())) is None
            wait_until(lambda: team.task("b").finished, timeout=15, what="w2 goes on")

    first = team.task("a")
    assert (first.status, first.crashes, first.attempts) == ("completed", 1, 0)
    record = team.team.agents.load("w1")
    assert record is not None
    assert (record.state, record.reason, record.task, record.tools) == ("stopped", "killed", None, ())
    assert team.team.roster.load().member("w1").name == "w1"
    assert [event.agent for event in team.events("agent_died")] == ["w1"]
    assert [event.task for event in team.events("task_released")] == ["1"]
    assert [event.agent for event in team.events("task_claimed")] == ["w1", "w2", "w2"]
