"""Sessions that go on where an earlier one was stopped or killed."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.integration.session.steps import LONG, a_task, bash, stopped_in_a_command
from tests.support.models import FakeModel
from worker.messages import blocks_of, final_text


async def test_the_same_agent_goes_on_where_it_was_stopped(make) -> None:
    team = make(
        a_task(
            {"calls": [bash("echo once >> log")]},
            {"calls": [bash(LONG)], "expect": "error"},
            {"say": "Done."},
        )
    )
    stop, running, _ = await stopped_in_a_command(team)
    stop.set()
    await running

    outcome = await team.session("w1", life=2)

    assert outcome is not None
    assert outcome.status == "completed"
    assert (team.workspace / "log").read_text() == "once\n"
    first, second = team.sessions("w1")
    start = next(line for line in team.lines("w1") if line["type"] == "start" and line["session"] == second)
    assert (start["cause"], start["parent"]) == ("resume", first)
    messages = team.messages("w1", second)
    assert sum(message["role"] == "assistant" for message in messages) == 3


async def test_a_session_whose_process_was_killed_goes_on_too(make) -> None:
    """Its transcript just stops; the call that was cut off is answered as interrupted, and not run again."""
    team = make(a_task({"calls": [bash(LONG)], "expect": "error"}, {"say": "Done."}))
    _, running, _ = await stopped_in_a_command(team)
    path = Path(team.team.layout.transcript("w1"))
    as_it_was = path.read_bytes()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    path.write_bytes(as_it_was + b'{"type": "result", "sess')

    outcome = await team.session("w1", life=2)

    assert outcome is not None
    assert outcome.status == "completed"
    result = blocks_of(team.messages("w1", team.sessions("w1")[1])[2])[0]
    assert result["is_error"]
    assert "interrupted" in result["content"]


async def test_work_that_was_done_when_the_check_was_stopped_is_only_checked_again(make) -> None:
    team = make(a_task({"say": "Done."}, verify=[f"test -f fine || {{ {LONG}; }}"]))
    stop, running, _ = await stopped_in_a_command(team)
    stop.set()
    await running
    team.write("fine", "")

    outcome = await team.session("w1", life=2)

    assert outcome is not None
    assert (outcome.status, outcome.summary) == ("completed", "Done.")


async def test_another_agent_starts_anew_and_is_told_that_there_was_somebody(make) -> None:
    team = make(
        a_task({"calls": [bash(LONG)], "expect": "error"}, {"say": "Done."}),
        teammates=[{"name": "w1"}, {"name": "w2"}],
    )
    stop, running, _ = await stopped_in_a_command(team)
    stop.set()
    await running
    model = FakeModel("Done.")

    outcome = await team.begin(team.bench("w2", model)).run()

    assert outcome is not None
    assert outcome.status == "completed"
    assert "begun before" in final_text(model.requests[0].messages[0])
