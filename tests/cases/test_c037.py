"""A healthy job that took longer than the limit for silence was given up: nobody sent a sign of life."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.crew import BACKENDS, crew, long_task

pytestmark = pytest.mark.timeout(90)

SCALE = 0.1
READERS_SCALE = 0.04
"""Of those who look: for them a teammate that beats as seldom as a worker may is silent sooner."""
STALLED_AFTER_SECONDS = 60 * READERS_SCALE


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_long_command_is_no_silence(isolated_home: Path, backend: str) -> None:
    """Its heartbeat goes on beside the command, so it keeps its task, though others look for dead ones."""
    command = f"touch began; sleep {1.25 * STALLED_AFTER_SECONDS}; touch ended"
    tasks = [long_task("a", command, owner="w1")]
    with crew(backend, isolated_home, "w1", "w2", tasks=tasks, scale=SCALE) as team:
        team.bring_up()
        team.until_there("began")
        states = []
        while not (team.workspace / "ended").exists():
            shown = team.shell.swarm("status", "--json", SWARM_TIME_SCALE=str(READERS_SCALE)).json()
            states.append({agent["name"]: agent["state"] for agent in shown["agents"]}["w1"])
        team.until_task("a")

        task = team.task("a")
        assert len(states) >= 3
        assert set(states) <= {"working", "idle"}
        assert (task.status, task.owner, task.attempts, task.crashes) == ("completed", "w1", 0, 0)
        assert len([one for one in team.events("task_claimed") if one.task == task.id]) == 1
