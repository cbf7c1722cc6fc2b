"""An agent in a long command never read the order to stop; the team stayed, and nothing forced it."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from swarm.storage.processes import start_ticks
from swarm.testing.wait import wait_until
from tests.support.crew import BACKENDS, IN_PROCESS, Crew, crew, long_task

pytestmark = pytest.mark.timeout(90)

NAMES = ("w1", "w2", "w3")
LIMIT_SECONDS = 15.0
DEAF = "trap '' TERM INT HUP; touch w2; while :; do sleep 600; done"
TASKS = [
    long_task("w1", "touch w1; sleep 600", owner="w1"),
    long_task("w2", DEAF, owner="w2"),
    long_task("w3", "touch w3; sleep 600", owner="w3"),
]


@pytest.mark.parametrize("backend", BACKENDS)
def test_all_are_gone_in_time_with_what_they_run(isolated_home: Path, backend: str) -> None:
    """One is in a long command, one in a command that hears no signal, one is stopped itself.

    tmux wakes up what is stopped in a pane; who lives in the leader's process cannot be stopped alone.
    """
    with crew(backend, isolated_home, *NAMES, tasks=TASKS) as team:
        team.bring_up()
        team.until_there(*NAMES)
        pids, commands = {team.pid(name) for name in NAMES}, running_commands(team)
        if backend != IN_PROCESS:
            os.kill(team.pid("w3"), signal.SIGSTOP)
        assert team.swarm("team", "delete", "demo", "--force").code == 4

        started = time.monotonic()
        ended = team.swarm("stop", "--all", "--timeout", "5", "--json")
        assert time.monotonic() - started < LIMIT_SECONDS

        outcomes = {agent["name"]: agent["outcome"] for agent in ended.json()["agents"]}
        assert [outcomes[name] for name in NAMES] == ["stopped", "stopped", expected(backend)]
        assert len(commands) == 3
        wait_until(lambda: not any(map(start_ticks, commands | pids)), timeout=5, what="all are gone")
        assert [team.task(name).status for name in NAMES] == ["pending"] * 3
        team.until_run_ends()
        assert team.swarm("team", "delete", "demo", "--force").code == 0


def test_force_says_where_it_cannot_reach(isolated_home: Path) -> None:
    """Those in a leader that is stopped itself end only with it; the refusal names its process."""
    with crew(IN_PROCESS, isolated_home, *NAMES, tasks=TASKS) as team:
        team.bring_up()
        team.until_there(*NAMES)
        leader = team.pid("w1")
        os.kill(leader, signal.SIGSTOP)
        refused = team.swarm("stop", "--all", "--timeout", "0.5")
        assert refused.code == 4
        assert f"it lives in process {leader}, which leads the run; end that" in refused.err

        commands = running_commands(team)
        os.kill(leader, signal.SIGKILL)
        team.until_run_ends()
        assert team.swarm("stop", "--all").code == 0
        assert not any(map(start_ticks, commands))
        assert team.swarm("team", "delete", "demo").code == 0


def expected(backend: str) -> str:
    return "killed" if backend == "process" else "stopped"


def running_commands(team: Crew) -> set[int]:
    return {tool.pgid for name in NAMES for tool in team.record(name).tools if tool.pgid is not None}
