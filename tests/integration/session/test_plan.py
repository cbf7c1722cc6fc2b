"""Plan mode in a session: what ends it, for how long, and that nobody is waited for where nobody is."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from swarm.leader.questions import answer, open_questions
from swarm.permissions.modes import MODES_BUILT, PLAN
from swarm.storage.questions import expire
from tests.integration.session.steps import a_task, asked, bash, write
from tests.support.live_team import LiveTeam
from tests.support.models import Answer
from worker.claim import Outcome
from worker.messages import assistant_message, tool_use
from worker.planning import PlanReminders
from worker.tools.plan_mode import PlanMode

HANDS_IN = {"ExitPlanMode": {"plan": "# Plan\n\n1. Write made.txt."}}
WRITE = write("made.txt", "made\n")


def begun(team: LiveTeam, after: str, **facts: Any) -> asyncio.Task[Outcome | None]:
    bench = team.bench("w1", permission_mode=PLAN, mode_after_plan=after, **facts)
    return asyncio.create_task(team.begin(bench).run())


def planning(make: Any, *turns: dict[str, Any], **permissions: Any) -> LiveTeam:
    team: LiveTeam = make(a_task(*turns, {"say": "Done."}), permissions={"mode": "plan"} | permissions)
    return team


@pytest.mark.parametrize("after", [mode for mode in MODES_BUILT if mode not in (PLAN, "dontAsk")])
async def test_an_approved_plan_gives_the_mode_of_the_run_and_no_looser_one(make, after: str) -> None:
    team = planning(make, {"calls": [HANDS_IN]}, {"calls": [WRITE]}, {"calls": [bash("touch ran")]})
    session = begun(team, after)
    await asked(team)
    answer(team.team, "1", "allow")
    free = {"default": 0, "acceptEdits": 1, "bypassPermissions": 2}[after]
    for tool, _ in list(zip(("Write", "Bash"), range(2), strict=True))[free:]:
        (request,) = await asked(team)
        assert request.tool == tool
        answer(team.team, request.id, "allow")
        await team.until(lambda: not open_questions(team.team), "it is answered")
    await session

    assert (team.workspace / "made.txt").exists()
    assert (team.workspace / "ran").exists()
    assert len(team.team.permissions.list_resolved()) == 3 - free


@pytest.mark.parametrize("way", ["deny", "expire"])
async def test_a_plan_that_is_not_approved_changes_no_mode(make, way: str) -> None:
    """Whatever the mode is that would hold, and whatever rules allow."""
    turns = [{"calls": [HANDS_IN, WRITE]}, {"calls": [WRITE]}, {"calls": [bash("touch made.txt")]}]
    team = planning(make, *[turn | {"expect": "error"} for turn in turns], allow=["Write", "Bash"])
    session = begun(team, "bypassPermissions")
    (request,) = await asked(team)
    if way == "deny":
        answer(team.team, "1", "deny")
    else:
        expire(team.team, request, "nobody answered in time")
    await session

    assert not (team.workspace / "made.txt").exists()
    assert [("mode plan" in one["content"]) for one in team.results("w1")] == [False, True, True, True]


@pytest.mark.parametrize("facts", [{"headless": True}, {"mode_after_plan": "dontAsk"}], ids=str)
async def test_where_nobody_can_be_asked_a_plan_is_refused_at_once(make, facts: dict[str, Any]) -> None:
    """In mode dontAsk, too, which is still the run's while its planner may only look."""
    outside = {"Read": {"file_path": "/etc/hostname"}}
    team = planning(make, {"calls": [HANDS_IN, WRITE, outside], "expect": "error"})
    bench = team.bench("w1", permission_mode=PLAN, **facts)
    await asyncio.wait_for(team.begin(bench).run(), timeout=30)

    answers = team.team.permissions.list_resolved()
    assert [(one.outcome, one.by) for one in answers] == [("deny", "runtime")] * 2
    assert "Nobody can be asked" in team.results("w1")[0]["content"]
    assert not (team.workspace / "made.txt").exists()


async def test_what_is_approved_is_approved_for_that_agent_and_task_alone(make) -> None:
    """A further attempt need not ask again, and another task has to."""
    team: LiveTeam = make(
        a_task({"calls": [HANDS_IN]}, {"calls": [WRITE]}, {"say": "Done."}, verify=["test -e again.txt"]),
        {"key": "other", "subject": "Another", "script": [{"calls": [HANDS_IN]}, {"say": "Done."}]},
        mode="plan",
    )
    session = begun(team, "acceptEdits")
    await asked(team)
    answer(team.team, "1", "allow")
    await session
    plays: list[Answer] = [
        assistant_message(tool_use("t", "Write", {"file_path": "again.txt", "content": "x"})),
        "Done.",
    ]
    again = await team.session("w1", *plays, permission_mode=PLAN, mode_after_plan="acceptEdits")

    assert again is not None
    assert (team.workspace / "again.txt").exists()
    elsewhere = await team.session("w1", *plays, permission_mode=PLAN, mode_after_plan="acceptEdits")
    assert elsewhere is not None
    assert "mode plan" in team.results("w1")[-1]["content"]


def test_the_model_is_reminded_at_once_and_then_every_five_turns() -> None:
    """And after an interruption once of the plan that was approved before it."""
    reminders = PlanReminders(PlanMode("default"))
    said = [turn for turn in range(12) if reminders.next()]
    assert said == [0, 5, 10]

    approved = PlanReminders(PlanMode("acceptEdits", is_open=False))
    assert [turn for turn in range(7) if approved.next()] == [0]
    assert [turn for turn in range(7) if PlanReminders(None).next()] == []


def test_reminders_end_when_the_plan_is_approved() -> None:
    plan = PlanMode("default")
    reminders = PlanReminders(plan)
    assert reminders.next()
    plan.approve()
    assert [turn for turn in range(1, 12) if reminders.next()] == []
