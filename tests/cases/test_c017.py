"""Recovery gave the dead worker's task back, and then handed it to the same dead worker, for ever."""

from __future__ import annotations

from pathlib import Path

import pytest

from swarm.storage.processes import start_ticks
from swarm.testing.wait import wait_until
from tests.support.crew import OWN_PROCESS, crew, long_task, quick_task

pytestmark = pytest.mark.timeout(90)

SLEEPS_ONCE = "[ -e began ] && exit 0; echo $$ > pid; touch began; sleep 600"
TASKS = [long_task("a", SLEEPS_ONCE), quick_task("b", blocked_by=["a"])]


@pytest.mark.parametrize("backend", OWN_PROCESS)
def test_the_task_of_a_killed_worker_goes_to_one_that_is_alive(isolated_home: Path, backend: str) -> None:
    """The member stays on the roster with its record; it is shown as ended, and gets nothing any more.

    In-process workers cannot be killed alone: they die with their leader, which is C018.
    """
    with crew(backend, isolated_home, "w1", "w2", tasks=TASKS) as team:
        team.bring_up("w1")
        team.until_there("began")
        team.bring_up("w2")
        team.until_state("idle", "w2")
        team.kill_now("w1")

        wait_until(lambda: team.task("a").owner == "w2", timeout=15, what="w2 has it")
        assert start_ticks(team.number_in("pid")) is None
        wait_until(lambda: team.task("b").finished, timeout=15, what="w2 goes on")
        team.until_state("idle", "w2")

        first = team.task("a")
        assert (first.status, first.crashes, first.attempts) == ("completed", 1, 0)
        record = team.record("w1")
        assert (record.state, record.reason, record.task, record.tools) == ("stopped", "killed", None, ())
        shown = team.agents()["w1"]
        assert (shown["state"], shown["reason"]) == ("stopped", "killed")
        assert team.team.roster.load().member("w1").name == "w1"
        assert [event.agent for event in team.events("agent_died")] == ["w1"]
        assert [event.task for event in team.events("task_released")] == ["1"]
        assert [event.agent for event in team.events("task_claimed")] == ["w1", "w2", "w2"]
