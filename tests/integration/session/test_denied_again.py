"""What a person has denied is not asked for again, until a person wants it."""

from __future__ import annotations

from swarm.leader.questions import answer, open_questions
from tests.integration.session.steps import asked, bash, begun

NOTE = "not on my machine"


async def test_call_that_was_denied_is_not_asked_for_again(asking) -> None:
    again = {"calls": [bash("touch a")], "expect": "error"}
    other = {"calls": [bash("touch b")], "expect": "error"}
    team = asking(turns=[again, again, other, {"say": "Done."}])
    session = begun(team)
    await asked(team)
    answer(team.team, "1", "deny", note=NOTE)
    (request,) = await asked(team)
    answer(team.team, "2", "deny")
    await session

    assert request.input == {"command": "touch b"}
    first, second, third = (result["content"] for result in team.results("w1"))
    assert first == second != third


async def test_what_was_denied_is_not_asked_for_in_a_further_attempt(asking) -> None:
    """An attempt that failed after a no does not ask the person the same again, whoever makes it."""
    fails = {"calls": [{"Read": {"file_path": "missing.txt"}}]}
    team = asking(turns=[{"calls": [bash("touch a")], "expect": "error"}, fails])
    first = begun(team)
    await asked(team)
    answer(team.team, "1", "deny", note=NOTE)
    ended = await first
    assert ended is not None
    assert ended.status == "released"

    second = await team.begin(team.bench("w2")).run()

    assert second is not None
    assert second.status == "released"
    assert NOTE in team.results("w2")[0]["content"]
    assert len(team.team.permissions.list_resolved()) == 1
    assert open_questions(team.team) == ()


async def test_a_script_that_a_person_refuses_a_call_fails_at_once(asking) -> None:
    team = asking(turns=[{"calls": [bash("touch a")]}, {"say": "Done."}])
    session = begun(team)
    await asked(team)
    answer(team.team, "1", "deny", note=NOTE)

    ended = await session

    assert ended is not None
    assert ended.status == "failed"
    assert f"The user denied it: {NOTE}. The same call" in str(team.task("job").reason)
    assert team.task("job").attempts == 1


async def test_whoever_has_a_task_retried_is_asked_again(asking) -> None:
    team = asking(turns=[{"calls": [bash("touch a")]}, {"say": "Done."}])
    first = begun(team)
    await asked(team)
    answer(team.team, "1", "deny")
    await first
    team.team.tasks("user").retry(team.task("job").id)
    again = begun(team)
    (request,) = await asked(team)
    answer(team.team, str(request.number), "allow")

    ended = await again
    assert ended is not None
    assert ended.status == "completed"
