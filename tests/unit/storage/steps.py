"""Tasks to begin with, and what the journal and the event log say of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from swarm.core.journal import parse_line
from swarm.core.task import NewTask
from swarm.storage.tasks import TaskStore
from swarm.storage.team import Team


def add(store: TaskStore, *subjects: str, **fields: Any) -> tuple[str, ...]:
    return tuple(task.id for task in store.create(*(NewTask(subject=s, **fields) for s in subjects)))


def lines_of(team: Team) -> list[dict[str, Any]]:
    return [parse_line(raw) for raw in Path(team.layout.journal).read_bytes().splitlines()]


def kinds(team: Team) -> list[str]:
    return [event.event for _, event in team.events.read() if event.event.startswith("task_")]
