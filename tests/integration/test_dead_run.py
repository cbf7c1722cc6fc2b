"""`kill -9` of a whole `swarm run`: what was in hand is shown as it is, and goes on with anybody."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from swarm.testing.wait import wait_until
from tests.support.command import Shell, processes_of_run

pytestmark = pytest.mark.timeout(60)

TEAM = {
    "name": "t1",
    "workspace": "ws",
    "model": "scripted",
    "permissions": {"mode": "bypassPermissions"},
    "teammates": [{"name": "w1"}],
    "tasks": [
        {
            "key": "a",
            "subject": "Sleep",
            "script": [{"calls": [{"Bash": {"command": "touch began; sleep 600"}}]}, {"say": "Done."}],
        }
    ],
}


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    home, cwd = tmp_path / "home", tmp_path / "cwd"
    home.mkdir()
    (cwd / "ws").mkdir(parents=True)
    (cwd / "team.yaml").write_text(yaml.safe_dump(TEAM), encoding="utf-8")
    return Shell(home, cwd)


@pytest.fixture
def run(shell: Shell) -> Iterator[str]:
    """The id of a run that was killed while its command ran."""
    going = shell.start("run", "team.yaml")
    try:
        wait_until((shell.cwd / "ws" / "began").exists, timeout=20, what="the command runs")
        (agent,) = shell.swarm("status", "--json").json()["agents"]
    finally:
        going.kill()
        going.communicate()
    killed = str(agent["run_id"].partition(".")[0])
    yield killed
    for pid in processes_of_run(killed):
        os.kill(pid, signal.SIGKILL)


def test_the_next_claim_frees_the_task_and_ends_the_command(shell: Shell, run: str) -> None:
    assert processes_of_run(run)  # nobody was there to end it

    (agent,) = shell.swarm("status", "--json").json()["agents"]
    assert (agent["state"], agent["task"]) == ("dead", "1")
    (task,) = shell.swarm("task", "list", "--json").json()["tasks"]
    assert (task["status"], task["owner"]) == ("in_progress", "w1")

    started = time.monotonic()
    claimed = shell.swarm("-t", "t1", "task", "claim", "1", "--as", "x", "--json")
    took = time.monotonic() - started

    assert claimed.code == 0, claimed.err
    assert took < 5.0
    assert claimed.json()["owner"] == "x"
    assert claimed.json()["metadata"]["swarm"]["crashes"] == 1
    assert processes_of_run(run) == []
    (agent,) = shell.swarm("status", "--json").json()["agents"]
    assert (agent["state"], agent["reason"]) == ("stopped", "killed")
    events = shell.swarm("events", "--json").out
    assert events.count('"agent_died"') == events.count('"task_released"') == 1
