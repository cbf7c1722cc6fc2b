"""A teammate that shares the leader's process is stopped by force: it ends, and its task is unharmed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from swarm.testing.wait import wait_until
from tests.support.command import Shell

TEAM = {
    "name": "t1",
    "workspace": "ws",
    "model": "scripted",
    "permissions": {"mode": "bypassPermissions"},
    "teammates": [{"name": "w1"}, {"name": "w2"}],
    "tasks": [
        {
            "key": "a",
            "subject": "Do it",
            "script": [
                {"calls": [{"Bash": {"command": "test -e began || { touch began; sleep 600; }"}}]},
                {"say": "Done."},
            ],
        },
    ],
}


@pytest.mark.timeout(60)
def test_its_command_ends_and_another_does_its_task(tmp_path: Path) -> None:
    """The end of the command is ours and no failure: it costs no attempt."""
    home, cwd = tmp_path / "home", tmp_path / "cwd"
    home.mkdir()
    (cwd / "ws").mkdir(parents=True)
    (cwd / "team.yaml").write_text(yaml.safe_dump(TEAM), encoding="utf-8")
    shell = Shell(home, cwd)
    going = shell.start("run", "team.yaml", "--backend", "in-process", "--json")
    try:
        wait_until((cwd / "ws/began").exists, timeout=30, what="its command runs")
        owner = json.loads((shell.root / "tasks/t1/1.json").read_text(encoding="utf-8"))["owner"]
        stopped = shell.swarm("-t", "t1", "stop", owner, "--force", "--json")
        _, err = going.communicate(timeout=30)
    finally:
        going.kill()

    assert stopped.code == 0, stopped.err
    assert [agent["outcome"] for agent in stopped.json()["agents"]] == ["stopped"]
    assert going.returncode == 0, err
    task = json.loads((shell.root / "tasks/t1/1.json").read_text(encoding="utf-8"))
    assert (task["status"], task["owner"] == owner) == ("completed", False)
    facts = task["metadata"]["swarm"]
    assert (facts.get("attempts", 0), facts.get("crashes", 0)) == (0, 0)
