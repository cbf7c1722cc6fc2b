"""Idle and dead teammates looked the same, so that the lead started duplicates of those that were there."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from swarm.testing.wait import wait_until
from tests.support.command import Shell
from tests.support.live_team import LiveTeam
from tests.support.own_process import OwnProcess

pytestmark = pytest.mark.timeout(60)

LIMIT_SECONDS = 10.0


def states(shell: Shell) -> dict[str, str]:
    agents = shell.swarm("status", "--json").json()["agents"]
    return {agent["name"]: agent["state"] for agent in agents}


def test_an_idle_one_is_told_from_a_dead_one(isolated_home: Path) -> None:
    names = ("w1", "w2", "w3")
    quick = {"key": "a", "subject": "Quick", "script": [{"say": "Done."}]}
    team = LiveTeam(isolated_home, teammates=[{"name": name} for name in names], tasks=[quick])
    shell = Shell(isolated_home, team.workspace)
    with OwnProcess(team, "w1") as w1, OwnProcess(team, "w2") as w2, OwnProcess(team, "w3") as w3:
        for worker in (w1, w2, w3):
            worker.until_idle()
        wait_until(lambda: team.task("a").finished, timeout=15, what="all is quiet")
        os.kill(w3.process.pid, signal.SIGKILL)
        wait_until(lambda: states(shell)["w3"] == "dead", timeout=LIMIT_SECONDS, what="it is seen as dead")
        assert states(shell) == {"w1": "idle", "w2": "idle", "w3": "dead"}

        refused = shell.swarm("spawn", "w1", "--backend", "process", "--json")
        error = json.loads(refused.err)["error"]
        assert (refused.code, error["code"]) == (4, "agent_alive")
        assert "swarm send w1" in error["message"]
        assert w1.process.poll() is None
        try:
            assert shell.swarm("spawn", "w3", "--backend", "process").code == 0
            assert states(shell)["w3"] == "idle"
        finally:
            shell.swarm("stop", "w3", "--force")
