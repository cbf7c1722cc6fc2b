"""A task table together with the journal lines that made it, for tests of decisions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from swarm.core import operations
from swarm.core.table import TaskTable
from swarm.core.task import NewTask, Task, TaskResult

AT = "2026-11-30T12:30:00.000Z"


def run_of(name: str, life: int = 1) -> str:
    return f"k3v9qd7m.{name}.{life}"


class Journaled:
    """Decides, writes the line, applies it: what storage does, without files."""

    def __init__(self, team: str = "demo") -> None:
        self.table = TaskTable(team)
        self.lines: list[Mapping[str, Any]] = []

    def write(self, body: Mapping[str, Any] | None, by: str = "user") -> tuple[str, ...]:
        """Apply a decision and return the ids it touched; None was nothing to write."""
        if body is None:
            return ()
        line = operations.stamp(body, self.table.seq + 1, AT, by)
        touched = self.table.apply(line)
        self.lines.append(line)
        return touched

    def add(self, subject: str = "Do it", **fields: Any) -> str:
        """Create a task and return its id."""
        body = operations.create(self.table, NewTask(subject=subject, **fields), AT, "user")
        self.write(body)
        return str(body["id"])

    def claim(self, name: str, task_id: str | None = None, role: str | None = None, life: int = 1) -> str:
        """Claim a task that can be claimed and return the token."""
        body = operations.claim(self.table, name, role, run_of(name, life), task_id)
        assert isinstance(body, dict), body
        self.write(body, name)
        return self.token(body["id"])

    def token(self, task_id: str) -> str:
        claim = self.table.get(task_id).claim
        assert claim is not None
        return claim.token

    def finish(self, task_id: str, name: str = "w1") -> str:
        """Claim a task and complete it; return the token."""
        token = self.claim(name, task_id)
        self.write(operations.complete(self.table, task_id, token, TaskResult(summary="Done.")), name)
        return token

    def task(self, task_id: str) -> Task:
        return self.table.get(task_id)
