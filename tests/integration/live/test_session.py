"""One session against a service that is as strict as the real one."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from tests.integration.live.conftest import Make, live_bench, one_session
from tests.support.live_team import LiveTeam
from tests.support.messages_api import (
    MessagesApi,
    Reply,
    call,
    close,
    cut,
    error_event,
    hold,
    http_error,
    redacted,
    reply,
    reset,
    stall,
    text,
    thinking,
)
from worker.messages import final_text, tool_results

TASK: dict[str, Any] = {"key": "job", "subject": "Do the job", "script": [{"say": "x"}]}
APPEND = call("Bash", {"command": "echo ran >> ran"})


def ran(team: LiveTeam) -> int:
    path = team.workspace / "ran"
    return len(path.read_text().splitlines()) if path.exists() else 0


def notes(team: LiveTeam, what: str) -> list[str]:
    return [line["text"] for line in team.lines("w1") if (line["type"], line.get("what")) == ("note", what)]


async def test_the_work_is_done_by_calls_and_ends_with_the_report(make: Make) -> None:
    team = make(TASK)
    turns = [
        reply(thinking("look first"), text("Looking."), call("Glob", {"pattern": "*"}), APPEND),
        reply(thinking("done"), "All done."),
    ]

    with MessagesApi(turns) as api:
        outcome = await one_session(team, api)

    assert outcome is not None
    assert (outcome.status, outcome.summary) == ("completed", "All done.")
    assert ran(team) == 1
    assert api.refused == []
    first = api.exchanges[0].body
    assert first["model"] == "claude-sonnet-5-5"
    assert [tool["name"] for tool in first["tools"]] == sorted(tool["name"] for tool in first["tools"])
    assert first["max_tokens"] == 8_000


FAULTS: dict[str, list[Reply]] = {
    "overloaded": [http_error(529), http_error(529)],
    "rate limited": [http_error(429, retry_after=0.01)],
    "server error": [http_error(500), http_error(502)],
    "overloaded at the start of a stream": [reply("Loo", faults=(error_event(),))],
    "overloaded in the middle of a text": [reply("Looking around", faults=(error_event(after=4),))],
    "overloaded after thoughts": [reply(thinking("hm hm hm"), "x", faults=(error_event(after=5),))],
    "closed before the end": [reply("Looking around", faults=(close(after=5),))],
    "cut in the middle": [reply("Looking around", faults=(cut(after=3),))],
    "reset": [reply("Looking around", faults=(reset(after=3),))],
    "several": [http_error(529), reply("x", faults=(error_event(after=1),)), http_error(500)],
}


@pytest.mark.parametrize("faults", FAULTS.values(), ids=FAULTS)
async def test_what_passes_is_waited_out(make: Make, faults: list[Reply]) -> None:
    """No text twice, no tool twice, and the task is done at the first attempt."""
    team = make(TASK)

    with MessagesApi([*faults, reply("Looking.", APPEND), *faults, reply("All done.")]) as api:
        outcome = await one_session(team, api)

    assert outcome is not None
    assert (outcome.status, outcome.summary) == ("completed", "All done.")
    assert ran(team) == 1
    assert team.task("job").attempts == 0
    assert api.refused == []
    assert len(notes(team, "recovered")) == 2 * len(faults)
    said = [final_text(line["message"]) for line in team.lines("w1") if line["type"] == "assistant"]
    assert said == ["Looking.", "All done."]


@pytest.mark.parametrize(
    "fault",
    [error_event(blocks=2), close(blocks=2), cut(blocks=2)],
    ids=lambda fault: fault.kind,
)
async def test_a_call_that_was_started_is_not_asked_for_again(make: Make, fault: Any) -> None:
    """The answer breaks off after its first call: what there is of it is the turn."""
    team = make(TASK)
    broken = reply(thinking("two things"), APPEND, call("Bash", {"command": "echo other"}), faults=(fault,))

    with MessagesApi([broken, reply("All done.")]) as api:
        outcome = await one_session(team, api)

    assert outcome is not None
    assert outcome.status == "completed"
    assert ran(team) == 1
    assert api.refused == []
    assert len(api.exchanges) == 2


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (http_error(400, "messages: something odd"), "something odd"),
        (http_error(413), "prompt too long"),
        (reply("I cannot", stop_reason="refusal"), "refusal"),
    ],
)
async def test_what_does_not_pass_ends_the_attempt_at_once(make: Make, answer: Reply, told: str) -> None:
    team = make(TASK)

    with MessagesApi([answer]) as api:
        outcome = await one_session(team, api)

    assert outcome is not None
    assert outcome.status == "released"
    assert told in str(outcome.reason)
    assert (team.task("job").status, team.task("job").attempts) == ("pending", 1)
    assert len(api.exchanges) == 1


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (http_error(401, "invalid x-api-key"), "check ANTHROPIC_API_KEY"),
        (http_error(403), "no access"),
        (http_error(404, "model: claude-sonnet-5-5"), "check the model's name"),
        (http_error(400, "Your credit balance is too low"), "usage limit"),
        (http_error(429, "You have reached your usage limits"), "usage limit"),
        (http_error(429, retry_after=3_600), "rate limited"),
    ],
)
async def test_a_service_that_serves_nothing_costs_no_attempt(make: Make, answer: Reply, told: str) -> None:
    """When it is back the session goes on where it was: the command is not run again."""
    team = make(TASK)

    with MessagesApi([reply(APPEND), answer, reply("All done.")]) as api:
        outcome = await one_session(team, api)
        assert len(api.exchanges) == 2
        again = await one_session(team, api, life=2)

    assert outcome is not None
    assert outcome.status == "released"
    assert told in str(outcome.reason)
    assert again is not None
    assert again.status == "completed"
    assert (team.task("job").attempts, ran(team)) == (0, 1)
    assert api.exchanges[2].messages[:2] == api.exchanges[1].messages[:2]
    assert api.refused == []


async def test_after_six_tries_the_task_is_given_back(make: Make) -> None:
    team = make(TASK)

    with MessagesApi([http_error(529)] * 7) as api:
        outcome = await one_session(team, api)

    assert outcome is not None
    assert outcome.status == "released"
    assert "tried 6 times" in str(outcome.reason)
    assert len(api.exchanges) == 6
    assert team.task("job").attempts == 0


@pytest.mark.parametrize(
    ("ping_every", "limit"),
    [(None, {"model_silence_seconds": 0.3}), (0.1, {"model_progress_seconds": 0.5})],
    ids=["without a sign of life", "with nothing but signs of life"],
)
async def test_a_service_that_stalls_is_left(
    make: Make, ping_every: float | None, limit: dict[str, Any]
) -> None:
    team = make(TASK)
    silent = reply("Looking around", faults=(stall(30.0, after=3, ping_every=ping_every),))

    with MessagesApi([silent, reply("All done.")]) as api:
        outcome = await asyncio.wait_for(one_session(team, api, **limit), timeout=20)

    assert outcome is not None
    assert outcome.status == "completed"
    assert "stalled" in notes(team, "recovered")[0]


async def test_a_call_whose_input_is_no_json_gets_an_error(make: Make) -> None:
    team = make(TASK)
    broken = call("Bash", raw_input='{"command": "echo ran >> r')

    with MessagesApi([reply("x", broken), reply("All done.")]) as api:
        outcome = await one_session(team, api)

    assert outcome is not None
    assert outcome.status == "completed"
    assert ran(team) == 0
    (result,) = tool_results(api.exchanges[1].messages[-1])
    assert result["is_error"]
    assert "cut off" in result["content"]
    assert api.refused == []


async def test_an_answer_at_its_limit_is_asked_for_with_a_higher_one_then_in_pieces(make: Make) -> None:
    team = make(TASK)
    answers = [
        reply("The rep", stop_reason="max_tokens"),
        reply("The report is", stop_reason="max_tokens"),
        reply("long.", stop_reason="max_tokens"),
        reply("The end."),
    ]

    with MessagesApi(answers) as api:
        outcome = await one_session(team, api)

    assert outcome is not None
    assert (outcome.status, outcome.summary) == ("completed", "The end.")
    assert [exchange.body["max_tokens"] for exchange in api.exchanges] == [8_000, 64_000, 64_000, 64_000]
    assert api.exchanges[0].messages == api.exchanges[1].messages
    assert len(notes(team, "recovered")) == 3
    assert api.refused == []


@pytest.mark.parametrize("empty", [reply(), reply(text(" ")), reply(text("\n")), reply(thinking("hm"))])
async def test_an_empty_answer_poisons_nothing(make: Make, empty: Reply) -> None:
    team = make(TASK)

    with MessagesApi([reply("x", APPEND), empty, reply("All done.")]) as api:
        outcome = await one_session(team, api)

    assert outcome is not None
    assert outcome.status == "completed"
    assert api.refused == []


async def test_hidden_thoughts_go_back_as_they_came(make: Make) -> None:
    team = make(TASK)

    with MessagesApi([reply(redacted("abc="), thinking("ü 😀\n"), APPEND), reply("All done.")]) as api:
        outcome = await one_session(team, api)

    assert outcome is not None
    assert outcome.status == "completed"
    assert api.refused == []


async def test_a_stop_drops_the_request_and_the_task_goes_back(make: Make) -> None:
    team = make(TASK)
    gate, stop = threading.Event(), asyncio.Event()

    with MessagesApi([reply("Looking around", faults=(hold(gate, after=3),))]) as api:
        bench = live_bench(team, api)
        session = asyncio.create_task(team.begin(bench, stop).run())
        await team.until(lambda: api.in_flight, "a request")
        await asyncio.sleep(0.1)
        stop.set()
        outcome = await asyncio.wait_for(session, timeout=10)
        gate.set()
        await bench.models.close()

    assert outcome is not None
    assert (outcome.status, outcome.reason) == ("released", "stopped")
    assert team.task("job").attempts == 0


async def test_the_session_goes_on_after_a_stop_in_a_command(make: Make) -> None:
    """The call that was cut off is answered as interrupted, and the service takes that."""
    team = make(TASK)
    stop = asyncio.Event()
    long = call("Bash", {"command": "touch began; sleep 60"})

    with MessagesApi([reply(thinking("hm"), APPEND, long), reply("All done.")]) as api:
        bench = live_bench(team, api)
        session = asyncio.create_task(team.begin(bench, stop).run())
        await team.until_file("began")
        stop.set()
        assert (await session) is not None
        await bench.models.close()
        outcome = await one_session(team, api, life=2)

    assert outcome is not None
    assert (outcome.status, outcome.reason) == ("completed", None), outcome.reason
    assert ran(team) == 1
    results = tool_results(api.exchanges[1].messages[2])
    assert ["interrupted" in result["content"] for result in results] == [False, True]
    assert api.refused == []


async def test_a_tool_that_is_denied_as_a_whole_is_not_offered(make: Make) -> None:
    """Each call of it would cost a turn. One that is made all the same is denied by the rule."""
    rules = {"mode": "bypassPermissions", "deny": ["Bash", "Write(x)", "mcp__web"], "ask": ["Edit"]}
    team = make(TASK, permissions=rules)
    turns = [reply(call("Bash", {"command": "touch made"})), reply("Then not.")]
    with MessagesApi(turns) as api:
        outcome = await one_session(team, api)

    assert outcome is not None
    names = {tool["name"] for tool in api.exchanges[0].body["tools"]}
    assert "Bash" not in names
    assert {"Edit", "Read", "TaskUpdate", "Write"} <= names
    (denied,) = tool_results(api.exchanges[1].messages[-1])
    assert "The rule Bash of the team file forbids this call." in str(denied["content"])
    assert not (team.workspace / "made").exists()
