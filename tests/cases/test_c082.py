"""Work that was finished was shown as failed because of how the process ended afterwards."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.crew import BACKENDS, IN_PROCESS, crew, quick_task

pytestmark = pytest.mark.timeout(90)

SHELL_RETURNS_1 = {"calls": [{"Bash": {"command": "exit 1"}}], "expect": "error"}


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_task_stays_completed_when_its_worker_is_killed_afterwards(
    isolated_home: Path, backend: str
) -> None:
    """The journal says what became of the task; an exit code says nothing about it.

    Somebody else looks for what dead ones left and works on: who is left, or else the next leader's crew.
    """
    tasks = [quick_task("a", SHELL_RETURNS_1, owner="w1"), quick_task("b", owner="w2", blocked_by=["a"])]
    with crew(backend, isolated_home, "w1", "w2", tasks=tasks) as team:
        if backend == IN_PROCESS:
            team.bring_up()
            team.until_task("a", "b")
        else:
            team.bring_up("w1")
            team.until_task("a")
        before = team.task("a")
        team.until_state("idle", "w1")
        team.kill_now("w1")
        assert team.states()["w1"] == "dead"
        if backend == IN_PROCESS:
            team.lead()
        else:
            team.bring_up("w2")
            team.until_task("b")
            assert team.states()["w1"] == "dead"

        assert before.status == "completed"
        assert team.task("a") == before
        ids = {team.ids["a"], team.ids["b"]}
        assert [one for one in team.events("task_failed", "task_released") if one.task in ids] == []
        assert team.swarm("status", "--json").json()["tasks"]["completed"] == 2
