"""Tasks as a model writes and reads them."""

from __future__ import annotations

import json
from typing import Annotated, Any

from pydantic import BeforeValidator

from swarm.core.table import TaskTable
from swarm.core.tags import TASK_REPORT, TASK_TEXT, TRUST_NONE, letter, one_line, trust_of
from swarm.core.task import Task, verified, worded_by
from swarm.core.untrusted import UnsafeTextError, sanitised_json
from worker.tools.contract import ToolContext


def _as_id(value: Any) -> Any:
    """A model writes 7 or "#7" where "7" is meant."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value.strip().removeprefix("#") if isinstance(value, str) else value


TaskId = Annotated[str, BeforeValidator(_as_id)]


def task_table(context: ToolContext) -> TaskTable:
    return context.team.tasks(context.agent.name).table()


def fault_of_metadata(metadata: dict[str, Any] | None) -> str | None:
    if metadata and "swarm" in metadata:
        return "The metadata key `swarm` belongs to the runtime; use another key."
    return None


def summary_line(table: TaskTable, task: Task) -> str:
    """Return one task as one line: id, status, subject, who, and what it still waits for."""
    owner = f" ({one_line(task.owner)})" if task.owner else ""
    blockers = table.open_blockers(task.id)
    waits = f" [blocked by {hashed(blockers)}]" if blockers and not task.finished else ""
    return f"#{task.id} [{task.status}] {one_line(task.subject)}{owner}{waits}"


def hashed(ids: tuple[str, ...] | list[str]) -> str:
    return ", ".join(f"#{task_id}" for task_id in ids)


def details(table: TaskTable, task: Task) -> str:
    """Return all of a task that helps to work on it or after it; what others wrote in tags that say so."""
    lines = [
        f"Task #{task.id}: {one_line(task.subject)}",
        f"Status: {task.status}{' and verified' if verified(task) else ''}",
    ]
    lines += [f"Owner: {one_line(task.owner)}"] if task.owner else []
    lines += _links(table, "Waits for", task.blocked_by) + _links(table, "Waited for by", task.blocks)
    lines += [f"May write: {', '.join(map(one_line, task.files))}"] if task.files else []
    lines += [f"Verified by: {one_line(command)}" for command in task.verify]
    lines += [f"Metadata: {_metadata(task)}"] if task.metadata else []
    lines += [f"Why: {one_line(task.reason)}"] if task.reason else []
    lines += ["Description:", _description(task)] if task.description.strip() else []
    return "\n".join([*lines, *_result_lines(task)])


def _links(table: TaskTable, title: str, ids: tuple[str, ...]) -> list[str]:
    if not ids:
        return []
    found = [(task_id, table.find(task_id)) for task_id in ids]
    return [f"{title}: " + ", ".join(f"#{i} ({task.status if task else 'missing'})" for i, task in found)]


def _result_lines(task: Task) -> list[str]:
    result = task.result
    if result is None:
        return []
    report = letter(TASK_REPORT, result.summary.strip(), task=task.id, from_=task.owner, trust=TRUST_NONE)
    facts = {"Files": result.files, "Artifacts": result.artifacts, "Not checked": result.not_checked}
    lines = ["Result:", report]
    lines += [f"{title}: {one_line(', '.join(values))}" for title, values in facts.items() if values]
    return lines + ([f"Commit: {one_line(result.commit)}"] if result.commit else [])


def _description(task: Task) -> str:
    author = worded_by(task)
    return letter(TASK_TEXT, task.description.strip(), task=task.id, from_=author, trust=trust_of(author))


def _metadata(task: Task) -> str:
    try:
        return one_line(json.dumps(sanitised_json(dict(task.metadata)), ensure_ascii=False))
    except UnsafeTextError as error:
        return f"(left out: {one_line(str(error))})"
