"""What other hands do to task files, and what the store says to it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from swarm.core.event import Event
from swarm.core.journal import parse_line
from swarm.core.task import NewTask
from swarm.storage.tasks import TaskStore
from swarm.storage.team import Team

Change = Callable[[dict[str, Any]], object]


def add(store: TaskStore, subject: str = "do it", **fields: Any) -> str:
    return store.create(NewTask(subject=subject, **fields))[0].id


def raw(team: Team, task_id: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path(team.layout.task(task_id)).read_text())
    return found


def by_hand(team: Team, task_id: str, change: Change | Mapping[str, Any]) -> None:
    """Change a task's file as an editor does: in place, the padding gone."""
    obj = raw(team, task_id)
    if callable(change):
        change(obj)
    else:
        obj |= change
    Path(team.layout.task(task_id)).write_text(json.dumps(obj))


def make_by_hand(team: Team, task_id: str, **fields: Any) -> None:
    obj = {
        "id": task_id,
        "subject": "theirs",
        "description": "",
        "status": "pending",
        "blocks": [],
        "blockedBy": [],
    }
    Path(team.layout.task(task_id)).write_text(json.dumps(obj | fields))


def ops_of(team: Team) -> list[tuple[str, str]]:
    lines = map(parse_line, Path(team.layout.journal).read_bytes().splitlines())
    return [(line["op"], line["by"]) for line in lines]


def reverted(team: Team) -> list[Event]:
    return [event for _, event in team.events.read() if event.event == "task_edit_reverted"]


def swept(store: TaskStore) -> list[tuple[str, str]]:
    return [(verdict.task, verdict.what) for verdict in store.sweep()]
