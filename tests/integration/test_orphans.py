"""Teammates whose leader was killed: they ask no model any more, wait for another, and then give up."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from swarm.core.agent import AgentRecord
from swarm.core.identity import LEADER, make_run_id
from swarm.core.times import format_time
from swarm.storage import processes
from swarm.testing.wait import wait_until
from tests.integration.team.steps import WAITS_FOR_GO, task
from tests.support.live_team import LiveTeam
from tests.support.own_process import OwnProcess

pytestmark = pytest.mark.timeout(60)


class StandIn:
    """A process that is the leader by its record alone, and does nothing."""

    def __init__(self, team: LiveTeam, life: int = 1) -> None:
        self.run_id = make_run_id(team.run, LEADER, life)
        self.process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
        at = format_time(team.team.clock.now())
        record = AgentRecord(
            name=LEADER,
            run_id=self.run_id,
            backend="process",
            state="working",
            since=at,
            heartbeat=at,
            host=processes.host(),
            boot_id=processes.boot_id(),
            pid_ns=processes.pid_ns(),
            pid=self.process.pid,
            start_ticks=processes.start_ticks(self.process.pid),
        )
        team.team.agents.save(record)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        assert self.process.stdin is not None
        self.process.stdin.close()


@pytest.fixture
def team(isolated_home: Path) -> LiveTeam:
    return LiveTeam(
        isolated_home,
        permissions={"mode": "bypassPermissions"},
        teammates=[{"name": "w1"}],
        tasks=[task("a", script=WAITS_FOR_GO), task("b")],
    )


@pytest.fixture
def leaders(team: LiveTeam) -> Iterator[list[StandIn]]:
    living = [StandIn(team)]
    yield living
    for leader in living:
        leader.kill()


def record(team: LiveTeam) -> AgentRecord:
    found = team.team.agents.load("w1")
    assert found is not None
    return found


def turns(team: LiveTeam) -> int:
    return sum(line["type"] == "assistant" for line in team.lines("w1"))


def is_missed(team: LiveTeam) -> bool:
    """Whether the teammate knows that its leader is gone; it looks once a second."""
    return "leader is gone" in Path(team.team.layout.log("w1")).read_text()


def given_back(team: LiveTeam) -> None:
    """The task is free, unharmed, and says why."""
    task = team.task("a")
    assert (task.status, task.reason, task.attempts, task.crashes) == ("pending", "orphaned", 0, 0)
    (released,) = team.events("task_released")
    assert (released.agent, released.data["reason"]) == ("w1", "orphaned")


def busy(team: LiveTeam, leaders: list[StandIn], **changes: Any) -> OwnProcess:
    worker = OwnProcess(team, "w1", leader_run_id=leaders[0].run_id, **changes)
    wait_until((team.workspace / "began").exists, timeout=15, what="it works")
    return worker


def test_without_a_leader_the_command_ends_and_then_the_life(team: LiveTeam, leaders: list[StandIn]) -> None:
    with busy(team, leaders, time_scale=0.05) as worker:
        leaders[0].kill()
        wait_until(lambda: is_missed(team), timeout=15, what="it has been noticed")
        (team.workspace / "go").touch()
        wait_until(lambda: record(team).state == "waiting", timeout=15, what="it has noticed")
        found = record(team)
        assert (found.reason, found.task) == ("leader_gone", "1")
        assert found.until is not None
        assert turns(team) == 1
        assert len(team.results("w1")) == 1

        worker.ended()

    found = record(team)
    assert (found.state, found.reason, found.task) == ("stopped", "orphaned", None)
    assert [one.status for one in team.tasks()] == ["pending", "pending"]
    given_back(team)
    assert turns(team) == 1
    kinds = [event.event for event in team.events("agent_waiting", "agent_orphaned", "agent_stopped")]
    assert kinds == ["agent_waiting", "agent_orphaned", "agent_stopped"]


def test_a_command_that_outlasts_the_grace_time_is_ended(team: LiveTeam, leaders: list[StandIn]) -> None:
    with busy(team, leaders, time_scale=0.02) as worker:
        leaders[0].kill()
        worker.ended()

    assert record(team).reason == "orphaned"
    given_back(team)
    assert record(team).tools == ()


def test_a_leader_that_comes_back_in_time_is_worked_for(team: LiveTeam, leaders: list[StandIn]) -> None:
    with busy(team, leaders, time_scale=0.1) as worker:
        leaders[0].kill()
        wait_until(lambda: is_missed(team), timeout=15, what="it has been noticed")
        (team.workspace / "go").touch()
        wait_until(lambda: record(team).state == "waiting", timeout=15, what="it has noticed")
        leaders.append(StandIn(team, life=2))
        wait_until(lambda: all(one.finished for one in team.tasks()), timeout=15, what="all is done")
        worker.until_idle()

    assert team.events("agent_orphaned") == []


def test_an_idle_one_takes_no_task_without_its_leader(team: LiveTeam, leaders: list[StandIn]) -> None:
    leaders[0].kill()
    with OwnProcess(team, "w1", leader_run_id=leaders[0].run_id, time_scale=0.02) as worker:
        worker.ended()

    assert record(team).reason == "orphaned"
    assert team.events("task_claimed") == []


def test_who_was_started_without_a_leader_works_without_one(team: LiveTeam) -> None:
    (team.workspace / "go").touch()
    with OwnProcess(team, "w1", time_scale=0.02) as worker:
        wait_until(lambda: all(one.finished for one in team.tasks()), timeout=15, what="all is done")
        worker.until_idle()
