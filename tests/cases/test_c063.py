"""A saved chat with calls in it could not be taken up again."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from swarm.core.agent import AgentRecord
from swarm.storage.processes import start_ticks
from swarm.testing.wait import wait_until
from tests.support.command import Shell
from tests.support.live_runs import BY_HAND, MODEL, access, live_team, placed, told, work
from tests.support.live_team import LiveTeam
from tests.support.messages_api import MessagesApi, Reply, call, hold, reply, text, thinking
from worker.messages import is_interrupted, tool_results

pytestmark = pytest.mark.timeout(120)

SLEEPS = call("Bash", {"command": "echo ran >> ran; sleep 600"})
ALL_ALLOWED = ("--permission-mode", "bypassPermissions")
LOOK = call("Glob", {"pattern": "*"})


def answers(moment: str, gate: threading.Event) -> list[Reply]:
    """Return the answers of the first life, in the last of which it is killed."""
    if moment == "between call and result":
        return [reply(thinking("hm"), LOOK), reply(thinking("so"), text("Running."), SLEEPS)]
    if moment == "between three calls and their results":
        return [reply(thinking("hm"), LOOK), reply(thinking("so"), LOOK, SLEEPS, LOOK)]
    if moment == "during the stream, after a call":
        return [reply(thinking("hm"), LOOK), reply(SLEEPS, "and then", faults=(hold(gate, blocks=1),))]
    return [reply(thinking("hm"), LOOK), reply(thinking("so"), "Look", faults=(hold(gate, blocks=1),))]


MOMENTS = {
    "between call and result": 1,
    "between three calls and their results": 1,
    "during the stream, after a call": 1,
    "during the stream, after thoughts": 0,
}


def record(team: LiveTeam) -> AgentRecord:
    found = team.team.agents.load("w1")
    assert found is not None
    return found


@pytest.fixture(params=BY_HAND)
def place(request: pytest.FixtureRequest, isolated_home: Path) -> Iterator[dict[str, Any]]:
    with placed(str(request.param)) as made:
        yield made


def kill(team: LiveTeam) -> None:
    pid = record(team).pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: start_ticks(pid) is None, timeout=20, what="it is gone")


def turns_of(team: LiveTeam) -> int:
    return sum(line["type"] == "assistant" for line in team.lines("w1"))


def answered(body: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the results to the calls of the last turn."""
    rows = [tool_results(message) for message in body["messages"]]
    return list([row for row in rows if row][-1])


@pytest.mark.parametrize("moment", MOMENTS)
def test_who_was_killed_goes_on(isolated_home: Path, place: dict[str, Any], moment: str) -> None:
    team = live_team(isolated_home, work())
    shell = Shell(isolated_home, team.workspace)
    gate = threading.Event()
    words = ("spawn", "w1", "--backend", place["SWARM_BACKEND"], "--model", MODEL, *ALL_ALLOWED)

    with MessagesApi([*answers(moment, gate), reply("All done.")]) as api:
        try:
            assert shell.swarm(*words, **place, **access(api)).code == 0
            if MOMENTS[moment]:
                wait_until((team.workspace / "ran").exists, timeout=40, what="the command runs")
                if moment.startswith("between"):
                    wait_until(lambda: turns_of(team) == 2, timeout=40, what="the turn is written down")
            else:
                at = api.exchanges
                wait_until(lambda: len(at) == 2 and at[1].events_sent > 3, timeout=40, what="it streams")
            kill(team)
            gate.set()
            assert shell.swarm(*words, **place, **access(api)).code == 0
            wait_until(lambda: team.task("job").finished, timeout=40, what="the task is done")
        finally:
            shell.swarm("stop", "--all", "--force", **place)

    assert team.task("job").status == "completed", team.task("job").reason
    assert [exchange.message for exchange in api.refused] == []
    assert api.merged_roles == []
    assert len(api.exchanges) == 3
    ran = team.workspace / "ran"
    assert (ran.read_text().split() if ran.exists() else []) == ["ran"] * MOMENTS[moment]
    last = api.exchanges[2].body
    if moment.startswith("between"):
        cut = [is_interrupted(one) for one in answered(last)]
        assert cut == ([True] if len(cut) == 1 else [False, True, True])
    elif MOMENTS[moment]:
        assert "sleep 600" in told(last)
        assert "interrupted" in told(last)
    assert "permission" not in " ".join(str(one["content"]) for one in answered(last))
