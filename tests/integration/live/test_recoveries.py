"""What a session does when the service refuses what it had taken before."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest

from swarm.errors import ModelError
from swarm.settings import Settings
from tests.integration.live.conftest import MODEL, Make, live_bench, one_session
from tests.support.messages_api import Exchange, MessagesApi, Reply, call, http_error, reply, text, thinking
from worker.messages import blocks_of, user_message
from worker.model.connection import Connection
from worker.model.live import LiveModel
from worker.model.meter import Unmetered
from worker.model.port import ModelRequest, Retrying, TurnDone

TASK: dict[str, Any] = {"key": "job", "subject": "Do the job", "script": [{"say": "x"}]}


def kinds(exchange: Exchange, at: int) -> list[str]:
    return [block["type"] for block in blocks_of(exchange.messages[at])]


async def test_a_conversation_that_became_too_long_loses_old_results_and_goes_on(make: Make) -> None:
    """Also where thoughts stand behind what changed, which the service then takes no more."""
    team = make(TASK)

    def turn(exchange: Exchange) -> Reply:
        if exchange.turns >= 30:
            return reply("All done.")
        return reply(thinking(f"turn {exchange.turns}"), call("Bash", {"command": "seq 2000"}))

    with MessagesApi(turn, context_window=40_000) as api:
        outcome = await one_session(team, api)

    assert outcome is not None
    assert (outcome.status, outcome.summary) == ("completed", "All done."), outcome.reason
    refused = [exchange.message for exchange in api.refused]
    assert refused, "it never became too long"
    assert all("too long" in str(said) or "thinking" in str(said) for said in refused)
    cleared = [line for line in team.lines("w1") if line.get("what") == "compacted"]
    assert cleared
    assert all(line["data"]["cleared"] for line in cleared)
    assert len([e for e in api.exchanges if e.outcome == "refused"]) <= 3 * len(cleared)


async def test_a_session_goes_on_with_the_words_that_it_began_with(make: Make) -> None:
    """Its thoughts are still good then, and what the service kept of it is read."""
    team = make(TASK)
    (team.workspace / "CLAUDE.md").write_text("Be brief.")
    stop = asyncio.Event()
    turns = [reply(thinking("hm"), call("Bash", {"command": "touch began; sleep 60"})), reply("All done.")]

    with MessagesApi(turns) as api:
        bench = live_bench(team, api)
        session = asyncio.create_task(team.begin(bench, stop).run())
        await team.until_file("began")
        stop.set()
        await session
        await bench.models.close()
        (team.workspace / "CLAUDE.md").write_text("Be wordy.")
        outcome = await one_session(team, api, life=2)

    assert outcome is not None
    assert outcome.status == "completed"
    assert api.refused == []
    assert api.prefix_breaks() == []
    assert "Be brief." in json.dumps(api.exchanges[1].messages[0])


def a_request(*messages: dict[str, Any]) -> ModelRequest:
    return ModelRequest(model=MODEL, system=("be good",), messages=list(messages), tools=[], max_tokens=1_000)


def a_model(api: MessagesApi, fallback: str | None = None, **changes: Any) -> tuple[LiveModel, Connection]:
    settings = Settings().scaled(0.001).replace(**changes)
    connection = Connection({"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": api.url}, settings)
    return LiveModel(MODEL, connection, settings, Unmetered(), fallback), connection


async def asked(model: LiveModel, request: ModelRequest) -> tuple[TurnDone, list[Retrying]]:
    events = [event async for event in model.stream(request)]
    done = events[-1]
    assert isinstance(done, TurnDone)
    return done, [event for event in events if isinstance(event, Retrying)]


async def test_a_model_that_stays_overloaded_is_replaced() -> None:
    """After three times in a row, at once, and for the rest of the life."""
    with MessagesApi([http_error(529)] * 3 + [reply("One."), reply("Two.")]) as api:
        model, connection = a_model(api, "claude-haiku-5-5")
        done, retries = await asked(model, a_request(user_message("go")))
        again, _ = await asked(model, a_request(user_message("go")))
        await connection.close()

    assert (done.message["content"][0]["text"], again.message["content"][0]["text"]) == ("One.", "Two.")
    assert [exchange.body["model"] for exchange in api.exchanges] == [MODEL] * 3 + ["claude-haiku-5-5"] * 2
    assert "claude-haiku-5-5 is asked in place" in retries[-1].why
    assert model.name == "claude-haiku-5-5"


async def test_without_another_model_overload_is_an_error() -> None:
    with MessagesApi([http_error(529)] * 6) as api:
        model, connection = a_model(api)
        with pytest.raises(ModelError, match=r"overloaded.*tried 6 times"):
            await asked(model, a_request(user_message("go")))
        await connection.close()


async def test_thoughts_that_are_refused_are_left_out_in_the_open_turn_too() -> None:
    """They were signed for another model, or after other words: the work goes on without them."""
    first = a_request(user_message("go"))

    with MessagesApi(
        [reply(thinking("hm"), text("Looking."), call("Read", {"file_path": "a"}))] * 1 + ["Done."]
    ) as api:
        model, connection = a_model(api)
        turn, _ = await asked(model, first)
        answered: Mapping[str, Any] = {
            "type": "tool_result",
            "tool_use_id": turn.message["content"][-1]["id"],
            "content": "what a holds",
            "is_error": False,
        }
        changed = a_request(user_message("go elsewhere"), turn.message, user_message(dict(answered)))
        tools = [{"name": "Read", "description": "x", "input_schema": {"type": "object"}}]
        done, retries = await asked(model, changed.replace(tools=tools))
        await connection.close()

    assert done.message["content"][0]["text"] == "Done."
    assert len(retries) == 1
    assert kinds(api.exchanges[-1], 1) == ["text", "text"]
    assert "what a holds" in json.dumps(api.exchanges[-1].messages[2])
