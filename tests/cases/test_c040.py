"""Idle and dead teammates looked the same, so that the lead started duplicates of those that were there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from swarm.storage.processes import start_ticks
from swarm.testing.wait import wait_until
from tests.support.crew import BACKENDS, IN_PROCESS, crew, quick_task

pytestmark = pytest.mark.timeout(90)

LIMIT_SECONDS = 10.0
NAMES = ("w1", "w2", "w3")


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_idle_one_is_told_from_a_dead_one(isolated_home: Path, backend: str) -> None:
    """Who is idle is not started again. Those in the leader's process all die with one."""
    with crew(backend, isolated_home, *NAMES, tasks=[quick_task("a")]) as team:
        team.bring_up()
        team.until_task("a")
        team.until_state("idle")
        assert team.states() == dict.fromkeys(NAMES, "idle")
        pid = team.pid("w1")

        refused = team.swarm("spawn", "w1", "--backend", "process", "--json")
        error = json.loads(refused.err)["error"]
        assert (refused.code, error["code"]) == (4, "agent_alive")
        assert "swarm send w1" in error["message"]
        assert (team.pid("w1"), start_ticks(pid)) == (pid, team.record("w1").start_ticks)

        team.kill_now("w3")
        others = "dead" if backend == IN_PROCESS else "idle"
        wait_until(
            lambda: team.states() == {"w1": others, "w2": others, "w3": "dead"},
            timeout=LIMIT_SECONDS,
            what="it is seen as dead, and the others as they are",
        )
        if backend != IN_PROCESS:
            team.bring_up("w3")
            assert team.states() == dict.fromkeys(NAMES, "idle")
