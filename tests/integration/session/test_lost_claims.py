"""Claims that are gone while a session works on the task."""

from __future__ import annotations

import asyncio

from swarm.core.identity import USER
from tests.integration.session.steps import WAITS_FOR_GO, a_task, call, write
from tests.support.live_team import git, make_repository
from tests.support.models import FakeModel
from worker.messages import assistant_message


async def test_a_task_cancelled_meanwhile_is_left_alone(make) -> None:
    """Noticed between two turns; nothing is checked, committed or completed any more."""
    team = make(a_task({"say": "x"}, verify=["touch checked"]))
    model = FakeModel(assistant_message(call("Bash", command=WAITS_FOR_GO)))
    running = asyncio.create_task(team.begin(team.bench("w1", model)).run())
    await team.until_file("began")

    team.team.tasks(USER).cancel("1", "not wanted")
    team.write("go", "")

    assert await asyncio.wait_for(running, 10) is None
    assert team.task("job").status == "cancelled"
    assert len(model.requests) == 1
    assert not (team.workspace / "checked").exists()
    assert (team.lines("w1")[-1]["why"], team.lines("w1")[-1]["outcome"]) == ("claim_lost", "released")


async def test_a_task_that_somebody_else_has_by_now_is_left_to_them(make) -> None:
    """Freed and claimed again while we were at it: in progress, but not ours any more."""
    team = make(a_task({"say": "x"}), teammates=[{"name": "w1"}, {"name": "w2"}])
    session = team.begin(team.bench("w1", FakeModel("Done.")))
    claim = team.task("job").claim
    assert claim is not None
    team.team.tasks("w1").release("1", claim.token, "taken away")
    team.team.tasks("w2").claim("w2", None, team.run_id("w2"))

    assert await session.run() is None

    assert (team.task("job").status, team.task("job").owner) == ("in_progress", "w2")
    assert team.lines("w1")[-1]["why"] == "claim_lost"
    assert not [line for line in team.lines("w1") if line["type"] == "assistant"]


async def test_a_claim_lost_while_the_model_speaks_runs_no_call(make) -> None:
    """A model needs seconds for an answer: a worker may be paused, given up and continued meanwhile."""
    team = make(a_task({"say": "x"}))
    spoken = asyncio.Event()
    model = FakeModel(spoken, assistant_message(call("Write", file_path="late.txt", content="late")))
    running = asyncio.create_task(team.begin(team.bench("w1", model)).run())
    await asyncio.wait_for(model.asked.wait(), 10)

    team.team.tasks("w2").free_dead("1", team.run_id("w1"), "given up")
    spoken.set()

    assert await asyncio.wait_for(running, 10) is None
    assert not (team.workspace / "late.txt").exists()
    assert team.lines("w1")[-1]["why"] == "claim_lost"


async def test_a_claim_lost_during_the_checks_commits_nothing(make, isolated_home) -> None:
    make_repository(isolated_home / "work", {"a.py": "a = 1\n"})
    team = make(a_task({"calls": [write("b.py", "b = 1\n")]}, {"say": "Done."}, verify=[WAITS_FOR_GO]))
    running = asyncio.create_task(team.begin(team.bench("w1")).run())
    await team.until_file("began")

    team.team.tasks(USER).cancel("1", "not wanted")
    team.write("go", "")

    assert await asyncio.wait_for(running, 10) is None
    assert git(team.workspace, "log", "--format=%s").split() == ["start"]
