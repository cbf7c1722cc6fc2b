"""Mail that a session gets: in which request, and once."""

from __future__ import annotations

import asyncio

from swarm.core.identity import USER
from swarm.errors import ModelError
from tests.integration.session.steps import WAITS_FOR_GO, a_task, call
from tests.support.models import FakeModel
from worker.messages import assistant_message, blocks_of, final_text, tool_results


async def test_mail_that_comes_while_a_tool_runs_is_in_the_very_next_request(make) -> None:
    """It neither waits for the end of the turn nor disturbs the call that runs."""
    team = make(a_task({"say": "x"}))
    model = FakeModel(assistant_message(call("Bash", command=f"{WAITS_FOR_GO}; echo done")), "Done.")
    session = team.begin(team.bench("w1", model))
    running = asyncio.create_task(session.run())
    await team.until_file("began")

    msg_id = team.send("w1", "use the new name")
    team.write("go", "")
    await running

    results = tool_results(model.requests[1].messages[-1])
    assert "done" in results[0]["content"]
    assert not results[0]["is_error"]
    text = final_text(model.requests[1].messages[-1])
    assert "use the new name" in text
    assert 'teammate_id="team-lead"' in text
    (line,) = [line for line in team.lines("w1") if line.get("msg_ids")]
    assert line["msg_ids"] == [msg_id]
    assert [mail.msg_id for mail in team.team.inbox("w1").history()] == [msg_id]
    assert team.team.inbox("w1").peek() == ()


async def test_waiting_mail_is_in_the_first_request_and_in_no_later_session(make) -> None:
    team = make(a_task({"say": "Read."}), {"key": "b", "subject": "b", "script": [{"say": "Done."}]})
    team.send("w1", "mind the tests")

    await team.session("w1")
    await team.session("w1")

    first, second = (team.messages("w1", session) for session in team.sessions("w1"))
    assert "mind the tests" in final_text(first[0])
    assert "mind the tests" not in str(second)


async def test_mail_in_a_cut_off_request_is_carried_to_the_next_session(make) -> None:
    """Of the request that was cut off nobody knows what the model made of it."""
    team = make(a_task({"say": "x"}), {"key": "b", "subject": "b", "script": [{"say": "x"}]})
    msg_id = team.send("w1", "mind the tests")
    await team.session("w1", ModelError("overloaded"))
    team.team.tasks(USER).cancel("1", "not wanted")
    model = FakeModel("Done.")

    await team.begin(team.bench("w1", model)).run()

    assert final_text(model.requests[0].messages[0]).count("mind the tests") == 1
    starts = [line for line in team.lines("w1") if line["type"] == "start"]
    assert starts[1]["carried"] == [msg_id]
    assert [line["msg_ids"] for line in team.lines("w1") if line.get("msg_ids")] == [[msg_id]]
    (first,), (kept,) = model.requests[0].messages, team.messages("w1", starts[1]["session"])[:1]
    assert blocks_of(first)[1:] == blocks_of(kept)  # the reminder before it is in no transcript


async def test_mail_read_by_a_killed_life_is_acknowledged_but_not_shown_again(make) -> None:
    """Killed between transcript and acknowledgement: the inbox still has what the model has seen."""
    team = make(a_task({"say": "x"}), {"key": "b", "subject": "b", "script": [{"say": "x"}]})
    team.send("w1", "mind the tests")
    inbox = team.team.inbox("w1")
    (mail,) = inbox.peek()
    await team.session("w1", "Done.")
    inbox.deliver(mail)
    model = FakeModel("Done.")

    await team.begin(team.bench("w1", model)).run()

    assert "mind the tests" not in str(model.requests[0].messages)
    assert inbox.peek() == ()
