"""Where answers come from, and the server as a process of its own."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import anthropic
import httpx2
import pytest

import worker.context.opening
from swarm.core.task import Task
from swarm.testing.wait import eventually
from tests.support.messages_api import (
    ChildApi,
    MessagesApi,
    call,
    close,
    http_error,
    reply,
    team_script,
    text,
    with_changes,
)
from tests.unit.support.asking import TOOLS, ask, assistant, client_of, open_stream, result, user
from worker.context.agent import AgentContext

EXAMPLES = Path(__file__).parents[3] / "teams_examples"
TEAM = """
name: demo
workspace: .
teammates: [{name: alice}]
tasks:
  - {key: last, subject: The last, blocked_by: [first], script: [{say: The end.}]}
  - key: first
    subject: The first
    script:
      - {say: Looking., calls: [{Read: {file_path: a}}, {Bash: {command: "true"}}]}
      - {calls: [{Read: {file_path: none}}], expect: error}
      - {say: Done.}
"""


def opening(task: str, agent: str = "alice, builder") -> dict:
    return user(f"# Your task: {task}\n\nFor {agent} in team demo.\n\nMore.", "Begin.")


@pytest.fixture
def team_file(tmp_path):
    path = tmp_path / "team.yaml"
    path.write_text(TEAM)
    return path


@pytest.mark.parametrize("role", [None, "builder"])
async def test_the_first_message_of_a_worker_tells_task_and_agent(role) -> None:
    agent = AgentContext(
        name="alice-2",
        team="demo",
        role=role,
        run_id="r1",
        color=None,
        model="m",
        permission_mode="default",
    )
    task = Task(id="17", subject="Make it · so", description="For bob in team x\n\nDo it.", attempts=1)
    with MessagesApi(["Hi"]) as api:
        await ask(api, worker.context.opening.opening(agent, task, [task.replace(id="3")]))

    assert [(e.task, e.agent) for e in api.exchanges] == [("17", "alice-2")]


async def test_each_task_and_each_agent_has_its_own_answers() -> None:
    script = {"7": ["seven", "seven again"], "bob": ["bob's"]}
    with MessagesApi(script) as api:
        said = [
            (await ask(api, opening(*whom))).blocks[0]["text"]
            for whom in (("7", "bob"), ("8", "bob"), ("7", "alice, builder"))
        ]
        assert said == ["seven", "bob's", "seven again"]
        assert [(e.task, e.agent) for e in api.exchanges] == [("7", "bob"), ("8", "bob"), ("7", "alice")]
        assert [e.number for e in api.of_task("7")] == [1, 3]


async def test_a_function_sees_the_request() -> None:
    with MessagesApi(lambda exchange: reply(f"turn {exchange.turns} of {exchange.body['model']}")) as api:
        answer = await ask(api, "go", assistant("a"), "on")

    assert answer.blocks == [text("turn 1 of claude-test-1")]


async def test_what_was_not_planned_is_told_apart_from_what_is_not_valid() -> None:
    with MessagesApi(["one"]) as api:
        await ask(api, "go")
        with pytest.raises(anthropic.BadRequestError, match="unscripted: the script has no answer left"):
            await ask(api, "go")
        assert (api.refused, [e.number for e in api.unscripted]) == ([], [2])

    no_script = pytest.raises(anthropic.BadRequestError, match="no script for task None, agent None")
    with MessagesApi({"1": ["one"]}) as api, no_script:
        await ask(api, "go")


async def test_a_script_that_fails_is_a_problem_of_the_test() -> None:
    with MessagesApi(lambda exchange: reply(exchange.body["none"])) as api:
        with pytest.raises(anthropic.BadRequestError, match="the script failed: KeyError"):
            await ask(api, "go")
        assert [type(problem) for problem in api.problems] == [KeyError]


async def test_a_team_file_is_played(team_file) -> None:
    """Ids go by the order in which a team creates the tasks: blockers first."""
    with MessagesApi(team_script(team_file)) as api:
        first = await ask(api, opening("1"))
        said, read, bash = first.blocks
        assert (said, read["input"], bash["name"]) == (text("Looking."), {"file_path": "a"}, "Bash")
        assert first.stop_reason == "tool_use"

        row = [opening("1"), first.message, user(result(read["id"]), result(bash["id"]))]
        second = await ask(api, *row)
        assert second.blocks[0]["id"] not in {read["id"], bash["id"]}
        failed = user(result(second.blocks[0]["id"], "no such file", is_error=True))
        third = await ask(api, *row, second.message, failed)
        assert (third.blocks, third.stop_reason) == ([text("Done.")], "end_turn")
        assert (await ask(api, opening("2"))).blocks == [text("The end.")]
        assert (api.refused, api.unscripted) == ([], [])


async def test_a_team_file_notices_what_is_not_as_it_says(team_file) -> None:
    with MessagesApi(team_script(team_file)) as api:
        first = await ask(api, opening("1"))
        failed = user(result(first.blocks[1]["id"], "no", is_error=True), result(first.blocks[2]["id"]))
        with pytest.raises(anthropic.BadRequestError, match=r"unscripted: step 1 \(Read\) failed: no"):
            await ask(api, opening("1"), first.message, failed)
        with pytest.raises(anthropic.BadRequestError, match="the team file has no task 3"):
            await ask(api, opening("3"))
        assert [e.number for e in api.unscripted] == [2, 3]


async def test_single_answers_can_be_changed(team_file) -> None:
    script = with_changes(team_script(team_file), {1: http_error(529), 2: close(2)})
    with MessagesApi(script) as api:
        with pytest.raises(anthropic.OverloadedError):
            await ask(api, opening("2"))
        assert (await ask(api, opening("2"))).types == ["message_start", "content_block_start"]
        assert (await ask(api, opening("2"))).blocks == [text("The end.")]


@pytest.fixture
def child(tmp_path):
    def make(script: dict) -> ChildApi:
        path = tmp_path / "script.json"
        path.write_text(json.dumps(script))
        return ChildApi(path, tmp_path / "log.jsonl")

    return make


async def test_the_server_runs_as_a_process_of_its_own(child, tmp_path) -> None:
    blocks = [{"type": "thinking", "thinking": "Hm."}, "Hi", call("Read", {"file_path": "é"})]
    script = {
        "tasks": {"1": [{"blocks": blocks}, "Done."], "alice": [{"status": 429, "retry_after": 2}]},
        "options": {"models": ["claude-test-1"], "minimum": 10},
    }
    with child(script) as api:
        first = await ask(api, opening("1"), tools=TOOLS, cache_control={"type": "ephemeral"})
        results = user(result(first.blocks[2]["id"]))
        await ask(api, opening("1"), first.message, results)
        with pytest.raises(anthropic.RateLimitError) as caught:
            await ask(api, opening("2"))
        assert caught.value.response.headers["retry-after"] == "2"
        with pytest.raises(anthropic.NotFoundError):
            await ask(api, "go", model="other")
        await eventually(lambda: len(api.all_exchanges()) == 4 and not api.in_flight, what="all is logged")

        exchanges = api.all_exchanges()
        assert [e.status for e in exchanges] == [200, 200, 429, 404]
        assert [e.number for e in api.refused] == [4]
        assert [e.task for e in api.of_task("1")] == ["1", "1"]
        assert list(exchanges[0].blocks) == first.blocks
        assert exchanges[0].usage["cache_creation_input_tokens"] > 10
        assert exchanges[1].body["messages"][1] == first.message
        assert api.prefix_breaks() == []
    assert api.process.returncode == 0
    assert "key-1" not in (tmp_path / "log.jsonl").read_text()


async def test_a_process_plays_a_team_file_and_its_faults(child, team_file, tmp_path) -> None:
    gate = tmp_path / "gate"
    changes = {
        "1": {"status": 529},
        "2": {"fault": {"kind": "close", "after": 1}},
        "3": {"fault": {"kind": "hold", "gate": str(gate)}},
    }
    with child({"team_file": team_file.name, "changes": changes}) as api:
        with pytest.raises(anthropic.OverloadedError):
            await ask(api, opening("2"))
        assert (await ask(api, opening("2"))).types == ["message_start"]
        asked = asyncio.create_task(ask(api, opening("2")))
        await eventually(lambda: api.in_flight == 1, what="it is asked")
        assert not asked.done()
        gate.touch()
        assert (await asked).blocks == [text("The end.")]
        await eventually(lambda: not api.in_flight, what="all is logged")
        assert [e.whole for e in api.all_exchanges()] == [True, False, True]


def test_a_process_that_cannot_start_says_so(child, capfd) -> None:
    with pytest.raises(RuntimeError, match="it ended with 1"), child({}):
        pass
    assert "KeyError" in capfd.readouterr().err


async def test_a_process_ends_with_its_test_even_if_an_answer_is_held(child) -> None:
    held = {"blocks": ["Hi"], "faults": [{"kind": "hold", "gate": "/nowhere/gate", "after": 2}]}
    came = asyncio.Queue[str | None]()

    async def listen(api: ChildApi) -> None:
        async with client_of(api) as client:
            stream = await open_stream(client, "go")
            async for event in stream.raw_events(stream.response):
                came.put_nowait(event.event)

    with child({"replies": [held]}) as api:
        asked = asyncio.create_task(listen(api))
        before_the_gate = [await asyncio.wait_for(came.get(), timeout=10) for _ in range(2)]
    assert api.process.returncode == 0
    with pytest.raises(httpx2.RemoteProtocolError):
        await asked
    assert (before_the_gate, came.qsize()) == (["message_start", "content_block_start"], 0)
    (exchange,) = api.all_exchanges()
    assert (exchange.events_sent, exchange.whole, exchange.dropped) == (2, False, False)


@pytest.mark.parametrize("name", ["demo", "pipeline", "retry"])
async def test_the_shipped_teams_can_be_played(name) -> None:
    with MessagesApi(team_script(EXAMPLES / name / "team.yaml")) as api:
        answer = await ask(api, opening("1"))

    assert answer.stop_reason == "tool_use"
