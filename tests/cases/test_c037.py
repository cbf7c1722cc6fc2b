"""A healthy job that took longer than the limit for silence was given up: nobody sent a sign of life."""

from __future__ import annotations

from pathlib import Path

import pytest

from swarm.testing.wait import wait_until
from tests.support.command import Shell
from tests.support.live_team import LiveTeam
from tests.support.own_process import OwnProcess

pytestmark = pytest.mark.timeout(60)

SCALE = 0.02
STALLED_AFTER_SECONDS = 60 * SCALE


def test_a_long_command_is_no_silence(isolated_home: Path) -> None:
    """Its heartbeat goes on beside the command, so it keeps its task, though others look for dead ones."""
    seconds = 4 * STALLED_AFTER_SECONDS
    script = [
        {"calls": [{"Bash": {"command": f"touch began; sleep {seconds}", "timeout": 600_000}}]},
        {"say": "Done."},
    ]
    team = LiveTeam(
        isolated_home,
        permissions={"mode": "bypassPermissions"},
        teammates=[{"name": "w1"}, {"name": "w2"}],
        tasks=[{"key": "a", "subject": "Long", "script": script, "owner": "w1"}],
    )
    shell = Shell(isolated_home, team.workspace)
    states = []
    with OwnProcess(team, "w1", time_scale=SCALE), OwnProcess(team, "w2", time_scale=SCALE):
        wait_until((team.workspace / "began").exists, timeout=15, what="it works")
        while not team.task("a").finished:
            shown = shell.swarm("status", "--json", SWARM_TIME_SCALE=str(SCALE)).json()
            states.append({agent["name"]: agent["state"] for agent in shown["agents"]}["w1"])

    task = team.task("a")
    assert len(states) >= 3
    assert set(states) <= {"working", "idle"}
    assert (task.status, task.owner, task.attempts, task.crashes) == ("completed", "w1", 0, 0)
    assert len(team.events("task_claimed")) == 1
