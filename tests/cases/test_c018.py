"""After a crash members stayed active for good, and later sessions gave work to ghosts.

Here teammates inside the leader's process.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from swarm.storage.processes import start_ticks
from swarm.testing.wait import wait_until
from tests.support.command import Shell
from tests.support.verbs import verb

NAMES = ("w1", "w2", "w3")
NEVER_ENDS = 'echo $$ > "$SWARM_AGENT.pid.new"; mv "$SWARM_AGENT.pid.new" "$SWARM_AGENT.pid"; sleep 600'
TEAM = {
    "name": "demo",
    "model": "scripted",
    "permissions": {"mode": "bypassPermissions"},
    "teammates": [{"name": name} for name in NAMES],
    "tasks": [
        {
            "key": f"job-{name}",
            "subject": f"Job of {name}",
            "script": [{"calls": [{"Bash": {"command": NEVER_ENDS}}]}, {"say": "Done."}],
        }
        for name in NAMES
    ],
}

pytestmark = pytest.mark.timeout(60)


@pytest.fixture
def crashed(isolated_home: Path) -> Path:
    """The root of a team whose leader, and all teammates with it, were killed in the middle of their work."""
    work = isolated_home / "work"
    work.mkdir()
    (isolated_home / "team.yaml").write_text(yaml.safe_dump(TEAM | {"workspace": str(work)}))
    shell = Shell(isolated_home, isolated_home)
    with shell.start("run", "team.yaml", "--backend", "in-process", "--quiet") as leader:
        try:
            busy = [work / f"{name}.pid" for name in NAMES]
            wait_until(lambda: all(path.exists() for path in busy), timeout=30, what="all are at work")
        finally:
            leader.kill()
    return shell.root


def states(root: Path) -> dict[str, str]:
    agents = verb(root, "status", "--json").json()["agents"]
    return {agent["name"]: agent["state"] for agent in agents if agent["name"] in NAMES}


def tasks(root: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = verb(root, "task", "list", "--json").json()["tasks"]
    return found


def test_all_are_shown_dead_and_somebody_else_gets_their_tasks(crashed: Path) -> None:
    """Their commands are ended before that: they might still write."""
    assert states(crashed) == dict.fromkeys(NAMES, "dead")
    commands = [int(path.read_text()) for path in (crashed.parent / "work").glob("*.pid")]
    assert all(start_ticks(pid) for pid in commands)

    claimed = verb(crashed, "task", "claim", "--as", "other", "--json").json()

    assert (claimed["id"], claimed["owner"]) == ("1", "other")
    assert [task.get("owner") for task in tasks(crashed)] == ["other", None, None]
    assert [task["status"] for task in tasks(crashed)] == ["in_progress", "pending", "pending"]
    assert not any(start_ticks(pid) for pid in commands)
    assert set(states(crashed).values()) == {"stopped"}
    events = verb(crashed, "events", "--json").out.splitlines()
    died = sorted(event["agent"] for event in map(json.loads, events) if event["event"] == "agent_died")
    assert died == sorted(NAMES)


def test_process_that_got_the_pid_of_a_dead_one_is_not_taken_for_it(crashed: Path) -> None:
    with subprocess.Popen(["sleep", "60"]) as unrelated:
        for name in NAMES:
            path = crashed / "teams" / "demo" / "agents" / f"{name}.json"
            path.write_text(json.dumps(json.loads(path.read_text()) | {"pid": unrelated.pid}))
        try:
            assert states(crashed) == dict.fromkeys(NAMES, "dead")
            assert verb(crashed, "task", "claim", "--as", "other").code == 0
            assert unrelated.poll() is None
        finally:
            unrelated.kill()
