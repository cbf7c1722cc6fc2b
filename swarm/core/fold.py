"""What one journal line does to the tasks it names.

The line alone decides: replayed on the same tasks it gives the same tasks, to the last byte of their files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from swarm.core.fields import EMPTY, an_object
from swarm.core.identity import agent_id, make_token
from swarm.core.task import Claim, Task, parse_result, parse_task, render_task
from swarm.values import Value

Changes = dict[str, Task | None]
"""Tasks after the line, the line's own task first; None: it is gone."""


class Fold(Value):
    """Where a line finds the tasks it names, and the team that claims are made in."""

    find: Callable[[str], Task | None]
    team: str

    def get(self, task_id: str) -> Task:
        found = self.find(task_id)
        if found is None:
            raise ValueError(f"the journal speaks of task {task_id}, which is not there")
        return found


def changes_of(line: Mapping[str, Any], fold: Fold) -> Changes:
    """Return what the line changes; an unknown operation or a task that should be there is a ValueError."""
    try:
        operation = _OPERATIONS.get(line["op"])
        if operation is None:
            raise ValueError(f"the journal operation {line['op']!r} is not known here")
        return operation(line, fold)
    except KeyError as error:
        raise ValueError(f"a journal line lacks {error}") from error


def changed_by(line: Mapping[str, Any], fold: Fold) -> dict[str, Task]:
    """Return the tasks that a line changes, without those that it removes."""
    return {task_id: task for task_id, task in changes_of(line, fold).items() if task is not None}


def settled_later(line: Mapping[str, Any]) -> str | None:
    """Return the status that a line gives its task, if the rest of it can be folded at any later time.

    So it is with nearly all lines, claims and completions; most of what they say is never asked for by the
    processes that only read them. None stands for any line that is not beyond doubt.
    """
    op = line.get("op")
    if op == "claim" and len(line) == len(_CLAIM_KEYS) and line.keys() == _CLAIM_KEYS:
        plain = type(line["at"]) is type(line["by"]) is type(line["run"]) is type(line["id"]) is str
        return "in_progress" if plain and type(line["seq"]) is int else None
    if op == "done" and len(line) == len(_COMPLETION_KEYS) and line.keys() == _COMPLETION_KEYS:
        plain = line["status"] == "completed" and type(line["at"]) is type(line["id"]) is str
        plain = plain and type(line["seq"]) is int
        return "completed" if plain and _is_plain(line["result"]) else None
    return None


def _is_plain(result: object) -> bool:
    if type(result) is not dict or type(result.get("summary")) is not str:
        return False
    for key, value in result.items():
        if key not in _RESULT_TEXTS:
            if type(value) is not list:
                return False
            for item in value:
                if type(item) is not str:
                    return False
        elif type(value) is not str:
            return False
    return True


_CLAIM_KEYS = frozenset({"seq", "op", "at", "by", "id", "run"})
_COMPLETION_KEYS = frozenset({"seq", "op", "at", "by", "id", "token", "status", "result"})
_RESULT_TEXTS = frozenset({"summary", "commit"})


def named_ids(line: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the ids of all tasks that a line may change, its own first."""
    own = line.get("id") or line["b"]
    near = line.get("near") or line.get("task", EMPTY).get("blockedBy") or ()
    return tuple(dict.fromkeys([own, *([line["a"]] if "a" in line else near)]))


def patched(task: Task, fields: Mapping[str, Any], ours: Mapping[str, Any]) -> Task:
    """Return the task with these fields of its file set, and these keys of ours; None removes one.

    `metadata` is merged key by key. A value that the file cannot hold is a ValueError.
    """
    obj = render_task(task)
    metadata = dict(obj.get("metadata", EMPTY))
    swarm = _merged(metadata.get("swarm", EMPTY), ours)
    others = {key: value for key, value in (fields.get("metadata") or EMPTY).items() if key != "swarm"}
    obj = _merged(obj, {key: value for key, value in fields.items() if key != "metadata"})
    return parse_task({**obj, "metadata": {**_merged(metadata, others), "swarm": swarm}})


def _merged(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in {**old, **new}.items() if value is not None}


def _marked(task: Task, line: Mapping[str, Any], **changes: Any) -> Task:
    return task.replace(seq=line["seq"], updated_at=line["at"], **changes)


def _new(line: Mapping[str, Any], fold: Fold) -> Changes:
    task = _marked(parse_task(line["task"]), line)
    changes: Changes = {task.id: task}
    for other in map(fold.find, task.blocked_by):
        if other is not None and task.id not in other.blocks:
            changes[other.id] = _marked(other, line, blocks=(*other.blocks, task.id))
    return changes


def _claim(line: Mapping[str, Any], fold: Fold) -> Changes:
    by, run_id, at = line["by"], line["run"], line["at"]
    claim = Claim(agent=agent_id(by, fold.team), run_id=run_id, token=make_token(line["seq"], run_id), at=at)
    task = _marked(fold.get(line["id"]), line, status="in_progress", owner=by, claim=claim)
    return {task.id: task}


def _done(line: Mapping[str, Any], fold: Fold) -> Changes:
    before = fold.get(line["id"])
    task = _marked(
        before,
        line,
        status=line["status"],
        result=parse_result(an_object(line["result"], "result")) if "result" in line else None,
        reason=line.get("reason"),
        attempts=line.get("attempts", before.attempts),
        crashes=line.get("crashes", before.crashes),
    )
    return {task.id: task}


def _free(line: Mapping[str, Any], fold: Fold) -> Changes:
    before = fold.get(line["id"])
    task = _marked(
        before,
        line,
        status="pending",
        owner=line.get("owner"),
        claim=None,
        result=None,
        reason=None if before.finished else line["reason"],  # a retry starts clean
        attempts=line["attempts"],
        crashes=line["crashes"],
    )
    return {task.id: task}


def _edge(line: Mapping[str, Any], fold: Fold) -> Changes:
    a, b = fold.get(line["a"]), fold.get(line["b"])
    change = _with if line["add"] else _without
    return {
        b.id: _marked(b, line, blocked_by=change(b.blocked_by, a.id)),
        a.id: _marked(a, line, blocks=change(a.blocks, b.id)),
    }


def _edit(line: Mapping[str, Any], fold: Fold) -> Changes:
    task = patched(fold.get(line["id"]), line["set"], line.get("swarm", EMPTY))
    return {task.id: _marked(task, line)}


def _del(line: Mapping[str, Any], fold: Fold) -> Changes:
    gone = line["id"]
    changes: Changes = {gone: None}
    for near in map(fold.find, line["near"]):
        if near is not None:
            links = {"blocks": _without(near.blocks, gone), "blocked_by": _without(near.blocked_by, gone)}
            changes[near.id] = _marked(near, line, **links)
    return changes


def _snap(line: Mapping[str, Any], _fold: Fold) -> Changes:
    task = parse_task(line["task"])
    return {task.id: task}


def _with(ids: tuple[str, ...], task_id: str) -> tuple[str, ...]:
    return ids if task_id in ids else (*ids, task_id)


def _without(ids: Iterable[str], task_id: str) -> tuple[str, ...]:
    return tuple(other for other in ids if other != task_id)


_OPERATIONS: Mapping[str, Callable[[Mapping[str, Any], Fold], Changes]] = {
    "new": _new,
    "claim": _claim,
    "done": _done,
    "free": _free,
    "edge": _edge,
    "edit": _edit,
    "del": _del,
    "snap": _snap,
}
