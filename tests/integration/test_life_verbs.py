"""`swarm stop`, `pause` and `continue` on teammates in processes of their own."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from swarm.core.message import parse_control
from swarm.storage.processes import start_ticks
from swarm.testing.wait import wait_until
from tests.integration.team.steps import NEVER_ENDS, WAITS_FOR_GO, calls, task
from tests.support.command import Ended, Shell
from tests.support.live_team import LiveTeam
from tests.support.own_process import OwnProcess

pytestmark = pytest.mark.timeout(60)

Begin = Callable[[str], OwnProcess]
LEAVES = calls("Bash", command="(setsid sleep 9999 & echo $! > left.new); mv left.new left; sleep 60")


@pytest.fixture
def team(isolated_home: Path) -> LiveTeam:
    return LiveTeam(
        isolated_home,
        permissions={"mode": "bypassPermissions"},
        teammates=[{"name": "w1"}, {"name": "w2"}],
        tasks=[
            task("a", script=NEVER_ENDS, owner="w1"),
            task("b", script=[*WAITS_FOR_GO[:1], calls("Bash", command="touch went_on"), {"say": "Done."}]),
            task("c", script=[LEAVES, {"say": "Done."}]),
        ],
    )


@pytest.fixture
def shell(isolated_home: Path, team: LiveTeam) -> Shell:
    return Shell(isolated_home, team.workspace)


@pytest.fixture
def begin(team: LiveTeam) -> Iterator[Begin]:
    """Start w1 and wait until it runs a command of this task, the only one that is left."""
    with ExitStack() as stack:

        def on(key: str) -> OwnProcess:
            for other in set(team.ids) - {key}:
                team.team.tasks("user").cancel(team.ids[other], "not in this test")
            worker = stack.enter_context(OwnProcess(team, "w1"))
            began = team.workspace / ("left" if key == "c" else "began")
            wait_until(began.exists, timeout=15, what="it works")
            return worker

        yield on


def outcome(ended: Ended) -> dict[str, Any]:
    assert ended.code == 0, ended.err
    return {agent["name"]: agent["outcome"] for agent in ended.json()["agents"]}


def error(ended: Ended) -> dict[str, Any]:
    assert ended.out == ""
    found: dict[str, Any] = json.loads(ended.err)["error"]
    return found


def record(team: LiveTeam, name: str = "w1") -> tuple[str, str | None]:
    found = team.team.agents.load(name)
    assert found is not None
    return found.state, found.reason


def tools(team: LiveTeam) -> list[int]:
    found = team.team.agents.load("w1")
    return [tool.pgid for tool in found.tools if tool.pgid] if found else []


def all_gone(pids: list[int]) -> bool:
    return all(start_ticks(pid) is None for pid in pids)


def test_stop_ends_a_long_command_frees_the_task_and_is_answered(
    team: LiveTeam, shell: Shell, begin: Begin
) -> None:
    w1 = begin("a")
    running = tools(team)
    ended = shell.swarm("stop", "w1", "--json")

    assert outcome(ended) == {"w1": "stopped"}
    (agent,) = ended.json()["agents"]
    assert (agent["state"], agent["reason"], "task" in agent) == ("stopped", "asked", False)
    assert w1.process.poll() == 0
    assert running
    assert all_gone(running)
    assert (team.task("a").status, team.task("a").owner) == ("pending", "w1")
    replies = [control["type"] for mail in team.mail() if (control := parse_control(mail.text))]
    assert replies == ["swarm.task_report", "shutdown_approved"]
    assert shell.swarm("team", "delete", "demo", "--force").code == 0


def test_stop_of_one_that_does_not_answer_kills_it_with_what_it_runs(
    team: LiveTeam, shell: Shell, begin: Begin
) -> None:
    w1 = begin("a")
    running = tools(team)
    w1.process.send_signal(signal.SIGSTOP)

    assert outcome(shell.swarm("stop", "w1", "--timeout", "0.5", "--json")) == {"w1": "killed"}
    assert w1.process.wait(5) == -signal.SIGKILL
    assert all_gone(running)
    assert record(team) == ("stopped", "killed")
    assert (team.task("a").status, team.task("a").crashes) == ("pending", 1)
    assert team.team.inbox("w1").peek() == ()


def test_with_force_it_is_not_asked(team: LiveTeam, shell: Shell, begin: Begin) -> None:
    w1 = begin("a")

    assert shell.swarm("stop", "--all", "--force").out == ("w1 was killed\nw2 already ended\n")
    assert w1.process.wait(5) == -signal.SIGKILL
    assert team.task("a").status == "pending"
    assert not any(mail.sender == "team-lead" for mail in team.mail("w1"))


def test_what_it_left_in_the_background_goes_too(team: LiveTeam, shell: Shell, begin: Begin) -> None:
    """In a session of its own neither its parent nor its group leads to it: its mark does."""
    begin("c")
    left = int((team.workspace / "left").read_text())
    assert outcome(shell.swarm("stop", "w1", "--json")) == {"w1": "stopped"}

    assert start_ticks(left) is None


def test_stop_may_be_repeated_and_clears_up_after_a_death(team: LiveTeam, shell: Shell, begin: Begin) -> None:
    w1 = begin("a")
    running = tools(team)
    w1.kill()

    assert shell.swarm("stop", "w1").out == "w1 already ended\n"
    assert record(team) == ("stopped", "killed")
    assert team.task("a").status == "pending"
    assert all_gone(running)
    assert outcome(shell.swarm("stop", "w1", "--json")) == {"w1": "already_ended"}
    assert len(team.events("agent_died")) == 1


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("w1", "nobody"), "no_such_agent"),
        ((), "bad_usage"),
        (("w1", "--all"), "bad_usage"),
        (("team-lead",), "bad_value"),
    ],
)
@pytest.mark.parametrize("verb", ["stop", "pause", "continue"])
def test_whom_it_means_must_be_clear(
    team: LiveTeam, shell: Shell, begin: Begin, verb: str, words: tuple[str, ...], code: str
) -> None:
    w1 = begin("a")
    found = error(shell.swarm(verb, *words, "--json"))

    assert found["code"] == code
    assert code != "no_such_agent" or found["details"]["valid"] == ["team-lead", "w1", "w2"]
    assert w1.process.poll() is None
    assert team.team.inbox("w1").peek() == ()


@pytest.mark.parametrize("verb", ["stop", "pause", "continue"])
def test_no_agent_may_order_another(shell: Shell, verb: str) -> None:
    ended = shell.swarm(verb, "w1", "--json", SWARM_AGENT="w2")

    assert (ended.code, error(ended)["code"]) == (5, "denied")


def test_pause_and_continue(team: LiveTeam, shell: Shell, begin: Begin) -> None:
    begin("b")
    assert shell.swarm("pause", "w1").out == "w1 pauses when what it runs now has ended\n"
    (team.workspace / "go").touch()
    wait_until(lambda: record(team) == ("paused", None), timeout=10, what="it is paused")
    assert outcome(shell.swarm("pause", "w1", "--json")) == {"w1": "paused"}
    assert "paused" in shell.swarm("status").out
    assert not (team.workspace / "went_on").exists()

    assert outcome(shell.swarm("continue", "--all", "--json")) == {"w1": "continued"}
    wait_until(lambda: team.task("b").finished, timeout=15, what="it is done")
    assert team.task("b").status == "completed"
    assert outcome(shell.swarm("continue", "w1", "--json")) == {"w1": "not_paused"}


def test_who_does_not_run_cannot_be_paused(team: LiveTeam, shell: Shell, begin: Begin) -> None:
    w1 = begin("a")
    never = error(shell.swarm("pause", "w2", "--json"))
    assert (never["code"], never["message"]) == (
        "not_running",
        "w2 was never started; swarm spawn w2 starts it",
    )
    w1.kill()
    ended = shell.swarm("pause", "w1", "--json")

    assert (ended.code, error(ended)["details"]) == (4, {"agent": "w1", "state": "dead"})
    assert team.team.inbox("w1").peek() == ()


def test_an_order_that_nobody_takes_waits(team: LiveTeam, shell: Shell, begin: Begin) -> None:
    w1 = begin("a")
    w1.process.send_signal(signal.SIGSTOP)

    assert outcome(shell.swarm("pause", "w1", "--json", SWARM_TIME_SCALE="0.1")) == {"w1": "ordered"}
    assert len(team.team.inbox("w1").peek()) == 1
    os.kill(w1.process.pid, signal.SIGCONT)
    wait_until(lambda: not team.team.inbox("w1").peek(), timeout=10, what="it has taken the order")
