"""Agents were registered and tasks were there, but nothing ever ran them."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from swarm.testing.wait import wait_until
from tests.support.command import Shell
from tests.support.live_team import LiveTeam

pytestmark = pytest.mark.timeout(60)

LIMIT_SECONDS = 10.0


def test_who_is_spawned_begins_by_itself(isolated_home: Path) -> None:
    """Tasks and two teammates, and nothing else: no message, no leader, no second command."""
    script = [{"calls": [{"Read": {"file_path": "notes.txt"}}]}, {"say": "Done."}]
    tasks = [{"key": key, "subject": f"Task {key}", "script": script} for key in ("a", "b")]
    tasks.append({"key": "c", "subject": "Task c", "script": script, "blocked_by": ["a", "b"]})
    team = LiveTeam(isolated_home, teammates=[{"name": "w1"}, {"name": "w2"}], tasks=tasks)
    team.write("notes.txt", "notes\n")
    shell = Shell(isolated_home, team.workspace)
    try:
        for name in ("w1", "w2"):
            assert shell.swarm("spawn", name, "--backend", "process").code == 0
        began = time.monotonic()
        wait_until(lambda: all(one.finished for one in team.tasks()), timeout=20, what="all is done")

        assert time.monotonic() - began < LIMIT_SECONDS
        assert [one.status for one in team.tasks()] == ["completed"] * 3
        pids = {record.pid for record in team.team.agents.list_agents()}
        assert len(pids) == 2
        assert os.getpid() not in pids
    finally:
        shell.swarm("stop", "--all", "--force")
