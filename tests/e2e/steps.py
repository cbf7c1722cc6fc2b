"""Team files for runs, and what became of their tasks."""

from __future__ import annotations

import json
from typing import Any

import yaml

from tests.support.command import Shell

SAY_DONE = [{"say": "Done."}]


def write_team(shell: Shell, tasks: list[dict[str, Any]], **more: object) -> str:
    """Write a team file with one teammate and these tasks; its workspace is a folder without git."""
    (shell.cwd / "ws").mkdir(exist_ok=True)
    team = {
        "name": "t1",
        "workspace": "ws",
        "model": "scripted",
        "permissions": {"mode": "acceptEdits"},
        "teammates": [{"name": "w1"}],
        "tasks": tasks,
    }
    (shell.cwd / "team.yaml").write_text(yaml.safe_dump(team | more), encoding="utf-8")
    return "team.yaml"


def a_task(key: str, script: list[Any] | None = None, **more: object) -> dict[str, Any]:
    return {"key": key, "subject": f"Task {key}", "script": script or SAY_DONE, **more}


def status_of(shell: Shell, task: str, team: str = "t1") -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        (shell.root / "tasks" / team / f"{task}.json").read_text(encoding="utf-8")
    )
    return found
