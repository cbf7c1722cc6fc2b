"""Decisions on what a task is and how it hangs together with others: each returns a journal line's body.

A body lacks number, time and author; None means that the table is as wanted already.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from swarm.core.fields import EMPTY
from swarm.core.fold import patched
from swarm.core.identity import LEADER, USER
from swarm.core.table import TaskTable
from swarm.core.task import NewTask, Requires, Task, render_requires, render_task
from swarm.errors import ConfigError, CycleError, TaskError

Body = dict[str, Any]

_TEXT_FIELDS = frozenset({"subject", "description", "activeForm", "metadata"})
_OURS = frozenset({"requires", "files", "verify"})
_EDITABLE: Mapping[str, frozenset[str]] = {
    "pending": _TEXT_FIELDS | _OURS | {"owner"},
    "in_progress": _TEXT_FIELDS | {"files", "verify"},
    "completed": _TEXT_FIELDS,  # a check added later did not run
    "failed": _TEXT_FIELDS | _OURS,
    "cancelled": _TEXT_FIELDS | _OURS,
}
_VALID_SHOWN = 100


def refusal(code: str, message: str, task: Task, **details: Any) -> TaskError:
    return TaskError(message, code=code, details={"task": task.id, **details})


def create(table: TaskTable, new: NewTask, at: str, by: str) -> Body:
    """Decide on a new task under the next id; its number in the journal is the table's next."""
    _check_text(new.subject, new.metadata)
    check_commands(new.verify)
    for blocker in new.blocked_by:
        _check_blocker(table, blocker)
    task = Task(
        id=str(table.next_id),
        subject=new.subject,
        description=new.description,
        active_form=new.active_form,
        owner=new.requires.agent if new.requires else None,
        blocked_by=tuple(dict.fromkeys(new.blocked_by)),
        seq=table.seq + 1,
        key=new.key,
        created_by=by,
        created_at=at,
        updated_at=at,
        requires=new.requires,
        files=new.files,
        verify=new.verify,
        metadata=new.metadata,
    )
    return {"op": "new", "id": task.id, "task": render_task(task)}


def edit(
    table: TaskTable, task_id: str, fields: Mapping[str, Any], ours: Mapping[str, Any], by: str = USER
) -> Body | None:
    """Decide on new values of file fields (`subject`, …) and of keys of ours (`files`, …); None removes one.

    Text that an agent changes counts as its word from then on, whoever made the task.

    Owner and `requires` go together: a task given to an agent shows it as owner, and the other way round.
    """
    task = table.get(task_id)
    _check_editable(task, [*fields, *ours])
    _check_text(fields.get("subject", task.subject), fields.get("metadata") or EMPTY)
    check_commands(ours.get("verify") or ())
    fields, ours = assigned(task, dict(fields), dict(ours))
    try:
        changed = patched(task, fields, ours)
    except ValueError as error:
        raise ConfigError(
            f"task {task_id} cannot be changed so: {error}", code="bad_value", details={"task": task_id}
        ) from error
    if changed == task:
        return None
    text_by = _text_by(task, fields, by)
    if text_by != task.text_by:
        ours["text_by"] = text_by
    body: Body = {"op": "edit", "id": task_id, "set": fields}
    return {**body, "swarm": ours} if ours else body


def _text_by(task: Task, fields: Mapping[str, Any], by: str) -> str | None:
    texts = {"subject": task.subject, "description": task.description}
    if all(fields.get(name, text) == text for name, text in texts.items()):
        return task.text_by
    if by not in {USER, LEADER}:
        return None if by == task.created_by else by
    return None if texts.keys() <= fields.keys() else task.text_by


def link(table: TaskTable, a: str, b: str) -> Body | None:
    """Decide that `b` waits for `a`."""
    task = table.get(b)
    _check_blocker(table, a)
    if a in task.blocked_by:
        return None
    cycle = table.cycle_with(a, b)
    if cycle is not None:
        raise CycleError(cycle)
    if task.status != "pending" and table.get(a).status != "completed":
        code = "finished" if task.finished else "in_progress"
        raise refusal(
            code, f"task {b} is {task.status}: it cannot wait for task {a} any more", task, blocker=a
        )
    return {"op": "edge", "a": a, "b": b, "add": True}


def unlink(table: TaskTable, a: str, b: str) -> Body | None:
    """Decide that `b` does not wait for `a` any more."""
    if a not in table.get(b).blocked_by:
        return None
    return {"op": "edge", "a": a, "b": b, "add": False}


def delete(table: TaskTable, task_id: str, *, unlink: bool = False) -> Body:
    """Decide to remove a task for good; with `unlink` also when others wait for it."""
    task = table.get(task_id)
    if task.status == "in_progress":
        raise refusal(
            "in_progress", f"{task.owner} works on task {task_id}: release or cancel it first", task
        )
    if task.blocks and not unlink:
        waiting = ", ".join(task.blocks)
        raise refusal(
            "has_dependents",
            f"task {waiting} depends on task {task_id}: remove these dependencies first",
            task,
            dependents=list(task.blocks),
        )
    near = dict.fromkeys([*task.blocks, *task.blocked_by])
    return {"op": "del", "id": task_id, "near": list(near)}


def editable(status: str) -> frozenset[str]:
    """Return the fields of the file, and keys of ours, that can change in this status."""
    return _EDITABLE[status]


def check_commands(verify: Iterable[str]) -> None:
    """Refuse a command of which nothing would run: it succeeds, and the task would count as verified."""
    if not all(map(runs_something, verify)):
        raise ConfigError(
            "an empty command verifies nothing; give a command, or leave it out",
            code="bad_value",
            details={"field": "verify"},
        )


def runs_something(command: str) -> bool:
    """Tell whether a shell finds anything to run in a text; blank lines and comments are nothing."""
    return any(line.strip() and line.strip()[0] != "#" for line in command.splitlines())


def _check_text(subject: object, metadata: Mapping[str, Any]) -> None:
    if not isinstance(subject, str) or not subject.strip():
        raise ConfigError("a task needs a subject", code="bad_value", details={"field": "subject"})
    if "swarm" in metadata:
        raise ConfigError(
            "the metadata key swarm is reserved; use another", code="bad_value", details={"field": "metadata"}
        )


def _check_blocker(table: TaskTable, blocker: str) -> None:
    if table.find(blocker) is not None:
        return
    valid = table.ids()
    hint = f"tasks are {', '.join(valid[:_VALID_SHOWN])}" if valid else "there are no tasks yet"
    raise ConfigError(
        f"there is no task {blocker} to wait for; {hint}",
        code="unknown_reference",
        details={"value": blocker, "valid": list(valid[:_VALID_SHOWN])},
    )


def _check_editable(task: Task, keys: list[str]) -> None:
    for key in keys:
        if key not in _EDITABLE["pending"]:
            raise ConfigError(
                f"{key} of task {task.id} cannot be edited", code="bad_value", details={"field": key}
            )
        if key not in _EDITABLE[task.status]:
            code = "finished" if task.finished else "in_progress"
            raise refusal(
                code, f"task {task.id} is {task.status}: its {key} cannot be changed", task, field=key
            )


def assigned(task: Task, fields: Body, ours: Body) -> tuple[Body, Body]:
    """Return the fields of an edit with what follows for owner and `requires` of a pending task."""
    if "requires" in ours:
        requires = ours["requires"]
        if isinstance(requires, Requires):
            ours["requires"] = requires = render_requires(requires)
        if task.status == "pending":
            fields["owner"] = requires.get("agent") if isinstance(requires, dict) else None
    elif "owner" in fields:
        ours["requires"] = {"agent": fields["owner"]} if fields["owner"] else None
    return fields, ours
