"""Sessions that go on where an earlier one was stopped or killed."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from tests.integration.session.steps import LONG, a_task, bash, stopped_in_a_command
from tests.support.live_team import LiveTeam
from tests.support.models import FakeModel
from worker.messages import final_text, is_interrupted, tool_results, tool_uses

UNLESS_FINE = f"test -e fine || {{ {LONG}; }}"


async def stopped(team: LiveTeam, life: int = 1) -> None:
    """Stop this agent in the middle of its command."""
    (team.workspace / "pid").unlink(missing_ok=True)
    stop = asyncio.Event()
    running = asyncio.create_task(team.begin(team.bench("w1", life=life), stop).run())
    await team.until_file("pid")
    stop.set()
    await asyncio.wait_for(running, 10)


async def killed(team: LiveTeam) -> None:
    """Kill this agent in the middle of its command: its transcript just stops, in the middle of a line."""
    _, running, _ = await stopped_in_a_command(team)
    path = Path(team.team.layout.transcript("w1"))
    as_it_was = path.read_bytes()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    path.write_bytes(as_it_was + b'{"type": "result", "sess')


def commands(team: LiveTeam) -> list[str]:
    turns = [line["message"] for line in team.lines("w1") if line["type"] == "assistant"]
    return [call["input"]["command"] for turn in turns for call in tool_uses(turn) if call["name"] == "Bash"]


@pytest.mark.parametrize("cut", [stopped, killed])
async def test_the_same_agent_goes_on_where_it_was_cut_off(make, cut) -> None:
    """What was done is not done again; what was cut off is, and its mark stays in the transcript."""
    team = make(
        a_task(
            {"calls": [bash("echo once >> log")]},
            {"calls": [bash("echo half >> log"), bash(UNLESS_FINE)]},
            {"say": "Done."},
        )
    )
    await cut(team)
    team.write("fine", "")

    outcome = await team.session("w1", life=2)

    assert outcome is not None
    assert (outcome.status, team.task("job").attempts) == ("completed", 0)
    assert (team.workspace / "log").read_text() == "once\nhalf\n"
    assert commands(team) == ["echo once >> log", "echo half >> log", UNLESS_FINE, UNLESS_FINE]
    first, second = team.sessions("w1")
    start = next(line for line in team.lines("w1") if line["type"] == "start" and line["session"] == second)
    assert (start["cause"], start["parent"]) == ("resume", first)
    messages = team.messages("w1", second)
    assert sum(message["role"] == "assistant" for message in messages) == 4
    results = [result for message in messages for result in tool_results(message)]
    assert [is_interrupted(result) for result in results] == [False, False, True, False]


async def test_stops_cost_no_attempts(make) -> None:
    """However many there are: nobody but us has a part in them."""
    team = make(a_task({"calls": [bash(UNLESS_FINE)]}, {"say": "Done."}))
    for life in range(1, 6):
        await stopped(team, life)
        assert (team.task("job").status, team.task("job").attempts) == ("pending", 0)
    team.write("fine", "")

    outcome = await team.session("w1", life=6)

    assert outcome is not None
    assert (outcome.status, team.task("job").attempts) == ("completed", 0)


UPDATE = {"TaskUpdate": {"taskId": "1", "status": "completed"}}
GIVES_UP = {"TaskUpdate": {"taskId": "1", "status": "failed", "reason": "There is no such file."}}


@pytest.mark.parametrize("cut", [stopped, killed])
async def test_a_task_that_was_handed_in_by_a_call_is_only_checked_again(make, cut) -> None:
    team = make(a_task({"say": "All done.", "calls": [UPDATE]}, verify=[UNLESS_FINE]))
    await cut(team)
    team.write("fine", "")

    outcome = await team.session("w1", life=2)

    assert outcome is not None
    assert (outcome.status, outcome.summary) == ("completed", "All done.")
    assert team.task("job").attempts == 0


@pytest.mark.parametrize(("call", "status"), [(UPDATE, "completed"), (GIVES_UP, "failed")])
async def test_a_call_that_was_cut_off_beside_the_end_is_made_before_it(make, call, status) -> None:
    team = make(a_task({"say": "All done.", "calls": [call, bash(UNLESS_FINE)]}))
    await killed(team)
    team.write("fine", "")

    outcome = await team.session("w1", life=2)

    assert outcome is not None
    assert outcome.status == status
    assert commands(team) == [UNLESS_FINE, UNLESS_FINE]
    task = team.task("job")
    assert (task.attempts, task.reason) == (0, "There is no such file." if status == "failed" else None)


async def test_what_came_back_from_its_checks_is_not_handed_in_any_more(make) -> None:
    """The agent heard of the failed check and was at work again when it was cut off."""
    team = make(
        a_task(
            {"calls": [UPDATE]},
            {"calls": [bash(UNLESS_FINE)]},
            {"say": "Now it is.", "calls": [UPDATE]},
            verify=["test -e fine"],
        )
    )
    await stopped(team)
    team.write("fine", "")

    outcome = await team.session("w1", life=2)

    assert outcome is not None
    assert (outcome.status, outcome.summary) == ("completed", "Now it is.")


EDIT = {"Edit": {"file_path": "a.txt", "old_string": "one", "new_string": "two"}}
READ_CUT_EDIT: list[dict] = [
    {"calls": [{"Read": {"file_path": "a.txt"}}]},
    {"calls": [bash(UNLESS_FINE)]},
    {"calls": [EDIT]},
    {"say": "Done."},
]


@pytest.mark.parametrize("cut", [stopped, killed])
async def test_a_file_that_was_read_before_the_cut_need_not_be_read_again(make, cut) -> None:
    team = make(a_task(*READ_CUT_EDIT), permissions={"mode": "bypassPermissions"})
    team.write("a.txt", "one\n")
    await cut(team)
    team.write("fine", "")

    outcome = await team.session("w1", life=2)

    assert outcome is not None
    assert (outcome.status, outcome.reason) == ("completed", None)
    assert (team.workspace / "a.txt").read_text() == "two\n"


async def test_a_file_that_changed_while_nobody_was_there_has_to_be_read_again(make) -> None:
    """Also when it has the same size and time: the content decides."""
    team = make(a_task(*READ_CUT_EDIT), permissions={"mode": "bypassPermissions"})
    before = team.write("a.txt", "one 1\n").stat()
    await stopped(team)
    team.write("fine", "")
    os.utime(team.write("a.txt", "one 2\n"), ns=(before.st_atime_ns, before.st_mtime_ns))

    outcome = await team.session("w1", life=2)

    assert outcome is not None
    assert outcome.status == "released"
    assert "was changed since you read it" in str(outcome.reason)
    assert (team.workspace / "a.txt").read_text() == "one 2\n"


async def test_who_goes_on_is_told_who_was_at_it_meanwhile(make) -> None:
    """Else it would do again what they did, and nothing in its transcript would say so."""
    team = make(
        a_task({"calls": [bash(LONG)]}, {"say": "Done."}),
        teammates=[{"name": "w1"}, {"name": "w2"}],
    )
    await stopped(team)
    stop = asyncio.Event()
    other = FakeModel(asyncio.Event())
    running = asyncio.create_task(team.begin(team.bench("w2", other), stop).run())
    await asyncio.wait_for(other.asked.wait(), 10)
    stop.set()
    await asyncio.wait_for(running, 10)

    models = [FakeModel(asyncio.Event()), FakeModel("Done.")]
    stop = asyncio.Event()
    running = asyncio.create_task(team.begin(team.bench("w1", models[0], life=2), stop).run())
    await asyncio.wait_for(models[0].asked.wait(), 10)
    stop.set()
    await asyncio.wait_for(running, 10)
    await team.begin(team.bench("w1", models[1], life=3)).run()

    told = [final_text(model.requests[0].messages[-1]) for model in models]
    assert "Since then w2 worked on this task" in told[0]
    assert told[1].count("Since then") == 1


async def test_work_that_was_done_when_the_check_was_stopped_is_only_checked_again(make) -> None:
    team = make(a_task({"say": "Done."}, verify=[UNLESS_FINE]))
    await stopped(team)
    team.write("fine", "")

    outcome = await team.session("w1", life=2)

    assert outcome is not None
    assert (outcome.status, outcome.summary) == ("completed", "Done.")


async def test_another_agent_starts_anew_and_is_told_that_there_was_somebody(make) -> None:
    team = make(
        a_task({"calls": [bash(LONG)]}, {"say": "Done."}),
        teammates=[{"name": "w1"}, {"name": "w2"}],
    )
    await stopped(team)
    model = FakeModel("Done.")

    outcome = await team.begin(team.bench("w2", model)).run()

    assert outcome is not None
    assert outcome.status == "completed"
    assert "begun before" in final_text(model.requests[0].messages[0])
