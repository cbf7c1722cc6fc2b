"""Steps that tests of the task verbs have in common."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from tests.unit.cli.conftest import Swarm


def add(swarm: Swarm, *words: str) -> str:
    return str(swarm("task", "add", *words, "--json").json()["id"])


def shown(swarm: Swarm, task_id: str) -> Any:
    return swarm("task", "show", task_id, "--json").json()


def swarm_of(task: Any) -> Any:
    return task["metadata"]["swarm"]


def claimed(swarm: Swarm, task_id: str, name: str = "w1") -> str:
    return str(swarm("task", "claim", task_id, "--as", name, "--json").json()["token"])


def with_members(swarm: Swarm, *members: dict[str, Any]) -> None:
    """Put members on the roster, as a start of teammates does."""
    path = Path(os.environ["CLAUDE_CONFIG_DIR"], "teams/demo/config.json")
    roster = json.loads(path.read_text())
    roster["members"] += [
        {"agentId": f"{m['name']}@demo", "cwd": "/", "joinedAt": 1, "subscriptions": [], "tmuxPaneId": ""} | m
        for m in members
    ]
    path.write_text(json.dumps(roster))
