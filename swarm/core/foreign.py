"""What another hand changed in a task's file: the journal lines that take it over, and what is put back.

Another client, or a person with an editor, knows neither journal nor lock. What is theirs to change is
taken over as if they had used a command; what is not, or cannot be, is put back.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from swarm.core.changes import Body, assigned, editable, link, runs_something, unlink
from swarm.core.fields import EMPTY, present
from swarm.core.identity import RUNTIME, USER
from swarm.core.jsontext import compact
from swarm.core.operations import Refusal, cancel, retry, unfit
from swarm.core.table import TaskTable
from swarm.core.task import Task, TaskResult, may_move, name_tasks, parse_task, render_result, render_task
from swarm.errors import SwarmError
from swarm.values import Value

_OURS_ALONE = (
    "key", "created_by", "text_by", "created_at", "updated_at", "attempts", "crashes", "claim", "result",
    "reason",
)  # fmt: skip
_FREE_VALUES = ("subject", "description", "active_form", "status", "owner", "requires", "files", "verify")
_MAPPINGS = ("metadata", "extra", "swarm_extra")
_LINKS = frozenset({"blocks", "blockedBy"})
_NOT_FIELDS = _LINKS | {"id", "status", "owner", "metadata"}
_EDITABLE_OURS = frozenset({"requires", "files", "verify"})
_ALL_OURS = (*_OURS_ALONE, *sorted(_EDITABLE_OURS), "swarm_extra")
_WORKED_ON = frozenset({"in_progress", "completed", "failed"})
_UNCHECKED = "verify"


class PutBack(Value):
    """A change that is not taken over: which fields, and why not."""

    fields: str
    reason: str


Step = Body | PutBack


def parse_found(obj: Mapping[str, Any], task_id: str) -> Task:
    """Return the task that a file shows, whoever wrote it; its name decides on the id.

    A null counts as absent. What can be no task, or stand in no journal line, is a ValueError.
    """
    metadata = obj.get("metadata")
    if isinstance(metadata, dict):
        swarm = metadata.get("swarm")
        metadata = _without_nulls(
            metadata | {"swarm": _without_nulls(swarm) if isinstance(swarm, dict) else swarm}
        )
    task = parse_task(_without_nulls({**obj, "id": task_id, "metadata": metadata}))
    compact(render_task(task))
    return task


def completed_by(found: Task, base: Task) -> Task:
    """Return what a file shows, with what its writer did not know of: a client may drop all that is ours."""
    if found.seq == 0:
        ours = {
            name: getattr(base, name) for name in (*_OURS_ALONE, "requires", "files", "verify", "swarm_extra")
        }
        metadata = found.metadata or base.metadata
        found = found.replace(seq=base.seq, metadata=metadata, **ours)
    order = {name: _in_order(getattr(found, name), getattr(base, name)) for name in ("blocks", "blocked_by")}
    return found.replace(**order)


def carried_over(task: Task, base: Task, found: Task) -> Task:
    """Return the task with what a hand changed since `base`, where the journal did not change the same.

    For a file that is about to be written: what nobody has checked yet must stay to be found.
    """
    found = completed_by(found, base)
    changes: dict[str, Any] = {}
    for name in _FREE_VALUES:
        old, theirs = getattr(base, name), getattr(found, name)
        if theirs != old and getattr(task, name) == old:
            changes[name] = theirs
    for name in _MAPPINGS:
        changes[name] = _merged(getattr(task, name), getattr(base, name), getattr(found, name))
    for name in ("blocks", "blocked_by"):
        added, removed = _link_changes(getattr(base, name), getattr(found, name))
        kept = (other for other in getattr(task, name) if other not in removed)
        changes[name] = tuple(dict.fromkeys([*kept, *added]))
    return task.replace(**changes)


def adopt(table: TaskTable, base: Task, found: Task) -> Iterator[Step]:
    """Yield the lines that take over what a hand changed since `base`, and what is to be put back.

    The next step is decided when the caller has written the last one.
    """
    found = completed_by(found, base)
    yield from _links(table, base, found)
    yield from _edits(table, base, found)
    yield from _moves(table, base, found)
    alone = [name for name in _OURS_ALONE if getattr(found, name) != getattr(base, name)]
    if alone:
        yield PutBack(fields=" ".join(alone), reason="only swarm writes these")


def adopt_later(table: TaskTable, found: Task) -> Iterator[Step]:
    """Yield the lines that take over a file of which the journal has lost lines: the file knows better."""
    task = table.get(found.id)
    old, new = render_task(task), render_task(found)
    skipped = _LINKS | {"id", "metadata"}
    fields = _changes(old, new, skipped)
    metadata = _changes(task.metadata, found.metadata)
    ours = _changes(old["metadata"]["swarm"], new["metadata"]["swarm"], frozenset({"seq", "updated_at"}))
    if metadata:
        fields["metadata"] = metadata
    if fields or ours:
        yield {"op": "edit", "by": RUNTIME, "id": found.id, "set": fields, "swarm": ours}
    yield from _links(table, task, found)


def adopt_new(table: TaskTable, found: Task, at: str) -> Body:
    """Return the line of a task that another hand made; links to tasks that are not there are left out."""
    ours: dict[str, Any] = {}
    if found.seq == 0:
        ours = {"attempts": 0, "crashes": 0, "claim": None, "result": None, "reason": None}
        if found.status == "completed":
            ours["result"] = _by_hand(found)
    task = found.replace(
        owner=found.owner or (USER if found.status == "in_progress" else None),
        blocks=(),
        blocked_by=tuple(dict.fromkeys(other for other in found.blocked_by if table.find(other))),
        verify=tuple(filter(runs_something, found.verify)),
        seq=table.seq + 1,
        created_by=found.created_by or USER,
        created_at=found.created_at or at,
        updated_at=at,
        **ours,
    )
    return {"op": "new", "by": _author(found), "id": task.id, "task": render_task(task)}


def adopt_new_links(table: TaskTable, found: Task) -> Iterator[Step]:
    """Yield the rest of `adopt_new`: the links that its line could not hold."""
    return _links(table, found.replace(blocks=(), blocked_by=()), found)


def _links(table: TaskTable, base: Task, found: Task) -> Iterator[Step]:
    task_id = found.id
    for name, side in (("blocked_by", "blockedBy"), ("blocks", "blocks")):
        added, removed = _link_changes(getattr(base, name), getattr(found, name))
        for other in removed:
            if table.find(other) is not None:
                a, b = (other, task_id) if side == "blockedBy" else (task_id, other)
                yield from _line(unlink(table, a, b), found)
        for other in added:
            a, b = (other, task_id) if side == "blockedBy" else (task_id, other)
            try:
                yield from _line(_checked_link(table, a, b), found)
            except SwarmError as error:
                yield PutBack(fields=side, reason=error.message)


def _checked_link(table: TaskTable, a: str, b: str) -> Body | None:
    for task_id in (a, b):
        table.get(task_id)
    return link(table, a, b)


def _edits(table: TaskTable, base: Task, found: Task) -> Iterator[Step]:
    task = table.get(found.id)
    old, new = render_task(base), render_task(found)
    fields = _changes(old, new, _NOT_FIELDS)
    ours = _changes(_swarm_of(old), _swarm_of(new), frozenset({"seq", *_OURS_ALONE}))
    metadata = _changes(base.metadata, found.metadata)
    if metadata:
        fields["metadata"] = metadata
    if found.status == base.status and found.owner != base.owner:
        fields["owner"] = found.owner
    refused = [key for key in [*fields, *ours] if not _may_edit(task, key, found)]
    for key in refused:
        fields.pop(key, None)
        ours.pop(key, None)
    if task.status == "pending":
        fields, ours = assigned(task, fields, ours)
    if _differs(task, fields, ours):
        body = {"op": "edit", "by": USER, "id": task.id, "set": fields}
        yield {**body, "swarm": ours} if ours else body
    if refused:
        yield PutBack(fields=" ".join(refused), reason=f"this cannot be changed so while it is {task.status}")


def _may_edit(task: Task, key: str, found: Task) -> bool:
    if key == "subject":
        return bool(found.subject.strip())
    if key == "verify":
        return key in editable(task.status) and all(map(runs_something, found.verify))
    if key == "owner" and task.status == "in_progress":
        return task.claim is None and found.owner is not None
    known = key in _EDITABLE_OURS or key == "owner"
    return key in editable(task.status) if known else True


def _differs(task: Task, fields: Mapping[str, Any], ours: Mapping[str, Any]) -> bool:
    """Tell whether a line with these values would change anything."""
    obj = render_task(task)
    swarm = _swarm_of(obj)
    metadata = fields.get("metadata", EMPTY)
    return (
        any(obj.get(key) != value for key, value in fields.items() if key != "metadata")
        or any(task.metadata.get(key) != value for key, value in metadata.items())
        or any(swarm.get(key) != value for key, value in ours.items())
    )


def _moves(table: TaskTable, base: Task, found: Task) -> Iterator[Step]:
    """Yield the lines of a new status, along the same moves that commands take."""
    task = table.get(found.id)
    if found.status in (base.status, task.status):
        return
    reason = _why_not(table, task, found)
    if reason is not None:
        yield PutBack(fields="status", reason=reason)
        return
    if task.status == "pending" and found.status in _WORKED_ON:
        fields = {"status": "in_progress", "owner": found.owner or USER}
        yield {"op": "edit", "by": _author(found), "id": task.id, "set": fields}
    if found.status != "in_progress":
        yield from _line(_ending(table, found), found)


def _why_not(table: TaskTable, task: Task, found: Task) -> str | None:
    old, new = task.status, found.status
    if old == "in_progress" and task.claim is not None:
        return f"{task.owner} works on it"
    if not (may_move(old, new) or (old == "pending" and new in _WORKED_ON)):
        return f"a task that is {old} does not become {new}"
    if old != "pending" or new not in _WORKED_ON:
        return None
    blockers = table.open_blockers(task.id)
    if blockers:
        return f"it waits for {name_tasks(blockers)}"
    name = found.owner or USER
    refused = unfit(table, name, name.rpartition("-")[0] or None, task)
    return refused.message if isinstance(refused, Refusal) else None


def _ending(table: TaskTable, found: Task) -> Body | None:
    task = table.get(found.id)
    if found.status == "cancelled":
        return cancel(table, task.id, "cancelled by hand")
    if found.status == "pending":
        if task.finished:
            return retry(table, task.id)
        counts = {"attempts": task.attempts, "crashes": task.crashes}
        return {
            "op": "free",
            "id": task.id,
            "reason": "given back by hand",
            **present(owner=found.owner),
            **counts,
        }
    body: Body = {"op": "done", "id": task.id, "status": found.status}
    if found.status == "failed":
        return {**body, "reason": "marked as failed by hand"}
    return {**body, "result": render_result(_by_hand(task))}


def _by_hand(task: Task) -> TaskResult:
    """Return the result of a task whose checks nobody ran."""
    return TaskResult(
        summary="Marked as completed by hand.", not_checked=(_UNCHECKED,) if task.verify else ()
    )


def _line(body: Body | None, found: Task) -> Iterator[Body]:
    if body is not None:
        yield {"op": body["op"], "by": _author(found), **body}


def _author(found: Task) -> str:
    """Return who a change of status is put down to: the one whom the file names, else a person."""
    return found.owner or USER if found.status in _WORKED_ON else USER


def _changes(
    old: Mapping[str, Any], new: Mapping[str, Any], skipped: frozenset[str] = frozenset()
) -> dict[str, Any]:
    """Return the keys that differ with their new values; None: the key is gone."""
    keys = dict.fromkeys([*new, *old])
    return {key: new.get(key) for key in keys if key not in skipped and old.get(key) != new.get(key)}


def _link_changes(old: tuple[str, ...], new: tuple[str, ...]) -> tuple[list[str], list[str]]:
    return [other for other in new if other not in old], [other for other in old if other not in new]


def _merged(ours: Mapping[str, Any], old: Mapping[str, Any], theirs: Mapping[str, Any]) -> Mapping[str, Any]:
    changed = {k: v for k, v in _changes(old, theirs).items() if ours.get(k) == old.get(k)}
    if not changed:
        return ours
    return _without_nulls({**ours, **changed})


def _in_order(found: tuple[str, ...], known: tuple[str, ...]) -> tuple[str, ...]:
    """Return the ids in the order that is known, if they are the same ones."""
    return known if found != known and sorted(found) == sorted(known) else found


def _swarm_of(obj: Mapping[str, Any]) -> Mapping[str, Any]:
    swarm: Mapping[str, Any] = obj.get("metadata", EMPTY).get("swarm", EMPTY)
    return swarm


def _without_nulls(obj: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in obj.items() if value is not None}
