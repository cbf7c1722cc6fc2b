"""After an interrupt a call had no result in the history, and each later request was refused."""

from __future__ import annotations

import asyncio
import json
import signal
import threading
from pathlib import Path
from typing import Any

import pytest

from swarm.leader.questions import answer, open_questions
from swarm.testing.wait import wait_until
from tests.integration.live.conftest import live_bench, one_session
from tests.support.command import Shell
from tests.support.live_runs import BACKENDS, access, live_team, placed, told, work, write_live_team
from tests.support.messages_api import Exchange, MessagesApi, Reply, call, hold, reply, thinking
from worker.messages import is_interrupted, tool_results, tool_uses
from worker.tools.contract import ToolOutput
from worker.tools.glob import Glob

pytestmark = pytest.mark.timeout(120)

WAITS = {"command": "touch began; while [ ! -e go ]; do sleep 0.05; done"}
SAID = "A word in between."
COUNTS = pytest.mark.parametrize("count", [1, 3], ids=["one call", "three calls"])
LOOK = call("Glob", {"pattern": "*"})


class Crashing(Glob):
    """A tool with a fault."""

    async def run(self, *_: Any) -> ToolOutput:
        raise RuntimeError("a fault in the tool")


def with_others(middle: dict[str, Any], count: int, other: dict[str, Any] = LOOK) -> list[dict[str, Any]]:
    """Return this call alone, or between two others."""
    return [middle] if count == 1 else [other, middle, other]


def check_pairs(api: MessagesApi) -> None:
    """Hold each call to have one result, in the very next message and in the order of the calls."""
    assert [exchange.message for exchange in api.refused] == []
    assert api.merged_roles == []
    for exchange in api.exchanges:
        messages = exchange.messages
        for at, message in enumerate(messages):
            calls = [one["id"] for one in tool_uses(message)]
            results = tool_results(messages[at + 1]) if calls else ()
            assert [one["tool_use_id"] for one in results] == calls


def results_in(exchange: Exchange) -> list[dict[str, Any]]:
    (message,) = [message for message in exchange.messages if tool_results(message)]
    return list(tool_results(message))


@COUNTS
async def test_by_a_message(isolated_home: Path, count: int) -> None:
    team = live_team(isolated_home, work())
    calls = with_others(call("Bash", WAITS), count)

    with MessagesApi([reply(thinking("hm"), *calls), reply("All done.")]) as api:
        session = asyncio.create_task(one_session(team, api))
        await team.until_file("began")
        team.send("w1", SAID)
        team.write("go", "")
        outcome = await session

    assert outcome is not None
    assert outcome.status == "completed", outcome.reason
    check_pairs(api)
    assert [one["is_error"] for one in results_in(api.exchanges[1])] == [False] * count
    assert SAID in told(api.exchanges[1].body)


@COUNTS
async def test_by_a_denied_permission(isolated_home: Path, count: int) -> None:
    team = live_team(isolated_home, work(), mode="default")
    calls = with_others(call("Write", {"file_path": "made", "content": "x"}), count)

    with MessagesApi([reply(thinking("hm"), *calls), reply("All done.")]) as api:
        session = asyncio.create_task(one_session(team, api))
        await team.until(lambda: open_questions(team.team), "it is asked")
        answer(team.team, "1", "deny")
        outcome = await session

    assert outcome is not None
    assert not (team.workspace / "made").exists()
    check_pairs(api)
    denied = [one["is_error"] for one in results_in(api.exchanges[1])]
    assert denied == ([True] if count == 1 else [False, True, False])


@COUNTS
@pytest.mark.parametrize("name", ["Glob", "Fly", ""], ids=["a tool crashes", "no such tool", "no name"])
async def test_by_a_call_that_cannot_be(isolated_home: Path, name: str, count: int) -> None:
    team = live_team(isolated_home, work())
    team.write("notes.txt", "notes\n")
    calls = with_others(call(name, {"pattern": "*"}), count, call("Read", {"file_path": "notes.txt"}))
    if not name:
        calls = with_others(call("Read", raw_input='{"file_path": "no'), count, LOOK)

    with MessagesApi([reply(thinking("hm"), *calls), reply("All done.")]) as api:
        bench = live_bench(team, api)
        broken = Crashing(bench.team.settings)
        if name == "Glob":
            bench = bench.replace(tools=tuple(broken if one.name == "Glob" else one for one in bench.tools))
        outcome = await team.begin(bench).run()
        await bench.models.close()

    assert outcome is not None
    assert outcome.status == "completed", outcome.reason
    check_pairs(api)
    failed = [one["is_error"] for one in results_in(api.exchanges[1])]
    assert failed == ([True] if count == 1 else [False, True, False])


@COUNTS
@pytest.mark.parametrize("when", ["while a command runs", "while the answer comes", "before the answer"])
async def test_by_a_stop(isolated_home: Path, when: str, count: int) -> None:
    """A next life goes on: each call that was begun has its result, and none is asked for again."""
    team = live_team(isolated_home, work())
    gate, stop = threading.Event(), asyncio.Event()
    first = reply(thinking("hm"), *with_others(call("Bash", WAITS), count, call("Bash", {"command": "true"})))
    if when == "while the answer comes":
        first = first.but(hold(gate, blocks=2 if count == 1 else 3))
    elif when == "before the answer":
        first = first.but(hold(gate, after=1))

    with MessagesApi([first, reply("All done.")]) as api:
        bench = live_bench(team, api)
        session = asyncio.create_task(team.begin(bench, stop).run())
        if when == "before the answer":
            await team.until(lambda: api.exchanges and api.exchanges[0].events_sent, "it begins")
        else:
            await team.until_file("began")
        stop.set()
        released = await asyncio.wait_for(session, timeout=20)
        gate.set()
        await bench.models.close()
        team.send("w1", SAID)
        outcome = await one_session(team, api, life=2)

    assert released is not None
    assert (released.status, released.reason) == ("released", "stopped")
    assert outcome is not None
    assert outcome.status == "completed", outcome.reason
    check_pairs(api)
    last = api.exchanges[-1]
    assert SAID in told(last.body)
    if when != "before the answer":
        interrupted = [is_interrupted(one) for one in results_in(last)]
        assert interrupted == ([True] if count == 1 else [False, True, True][: len(interrupted)])


async def test_by_a_stop_while_three_run_side_by_side(isolated_home: Path) -> None:
    """All of them had begun, so all are answered as interrupted, those of an answer that still comes too."""
    team = live_team(isolated_home, work())
    stop, gate, running = asyncio.Event(), threading.Event(), []

    class Endless(Glob):
        async def run(self, *_: Any) -> ToolOutput:
            running.append(self)
            await asyncio.Event().wait()
            raise AssertionError

    first = reply(thinking("hm"), LOOK, LOOK, LOOK, "and", faults=(hold(gate, blocks=4),))
    with MessagesApi([first, reply("All done.")]) as api:
        bench = live_bench(team, api)
        endless = Endless(bench.team.settings)
        tools = tuple(endless if one.name == "Glob" else one for one in bench.tools)
        session = asyncio.create_task(team.begin(bench.replace(tools=tools), stop).run())
        await team.until(lambda: len(running) == 3, "all three run")
        stop.set()
        await asyncio.wait_for(session, timeout=20)
        gate.set()
        await bench.models.close()
        outcome = await one_session(team, api, life=2)

    assert outcome is not None
    assert outcome.status == "completed", outcome.reason
    check_pairs(api)
    assert [is_interrupted(one) for one in results_in(api.exchanges[-1])] == [True] * 3


@pytest.mark.parametrize("backend", BACKENDS)
def test_by_ctrl_c(isolated_home: Path, tmp_path: Path, backend: str) -> None:
    """The whole run is interrupted and taken up again; the command is not run a second time."""
    shell = Shell(isolated_home, tmp_path)
    file = write_live_team(shell, [work("a")])
    begin = call("Bash", {"command": "echo ran >> ran; sleep 600"})

    def turn(exchange: Exchange) -> Reply:
        return reply("All done.") if exchange.turns else reply(thinking("hm"), LOOK, begin, LOOK)

    with placed(backend) as place, MessagesApi(turn) as api:
        process = shell.start("run", file, **place, **access(api))
        wait_until((tmp_path / "ws/ran").exists, timeout=40, what="the command runs")
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=40)
        ended = shell.swarm("resume", "t1", "--json", **place, **access(api))

    assert process.returncode == 130
    assert ended.code == 0, ended.err
    check_pairs(api)
    assert (tmp_path / "ws/ran").read_text().split() == ["ran"]
    first, *_, last = api.exchanges
    assert first.turns == 0
    assert "interrupted" in json.dumps(results_in(last)[1])
