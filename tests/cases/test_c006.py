"""Task files vanished a few seconds after the highest-numbered task was completed."""

from __future__ import annotations

from pathlib import Path

from swarm.core.task import NewTask
from swarm.testing.clock import FakeClock
from tests.support.stores import RESULT, check_tasks, claim_task, make_team, reopened


def test_finished_tasks_stay_until_somebody_deletes_them(tmp_path: Path) -> None:
    clock = FakeClock()
    team = make_team(tmp_path, clock=clock)
    team.tasks("user").create(*(NewTask(subject=f"task {number}") for number in range(1, 6)))
    for number in range(1, 6):
        claim = claim_task(team, "w1", str(number)).claim
        assert claim is not None
        team.tasks("w1").complete(str(number), claim.token, RESULT)

    clock.advance(60.0)
    leader = reopened(team).tasks("team-lead")
    assert leader.sweep() == ()
    leader.rewrite()

    listed = reopened(team).tasks("user").list_tasks()
    assert [(task.id, task.status, task.owner, task.result) for task in listed] == [
        (str(number), "completed", "w1", RESULT) for number in range(1, 6)
    ]
    check_tasks(team)
