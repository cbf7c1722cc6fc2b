"""Decisions on a task's life: given the table, what line goes into the journal, or why none does.

Each returns a line's body, which `stamp` completes; None means that all is as wanted already, so that an
operation may be repeated after a crash. Whoever writes lines decides under the lock, on a table that is
up to date.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from swarm.core.changes import Body, create, delete, edit, link, refusal, unlink
from swarm.core.fields import EMPTY, present
from swarm.core.identity import other_spelling
from swarm.core.table import TaskTable
from swarm.core.task import Task, TaskResult, may_move, render_result
from swarm.errors import TaskError
from swarm.values import Value

__all__ = [
    "Body", "Refusal", "cancel", "claim", "complete", "create", "current_token", "delete", "edit",
    "end_attempt", "fail", "free_dead", "link", "release", "retry", "stamp", "unfit", "unlink",
]  # fmt: skip

_BY_HAND = ".cli"
PARKED = "parked"
"""How the reason of a task begins that failed because it was tried too often."""


class Refusal(Value):
    """Why a claim was not granted: an expected outcome, not an error."""

    code: str
    message: str
    details: Mapping[str, Any] = EMPTY


def stamp(body: Mapping[str, Any], seq: int, at: str, by: str) -> Body:
    """Return the whole line: a claim's author is the claimer, whoever asks for it."""
    return {"seq": seq, "op": body["op"], "at": at, "by": by, **body}


def claim(
    table: TaskTable, name: str, role: str | None, run_id: str, task_id: str | None = None
) -> Body | Refusal:
    """Decide which task an agent gets: this one, else the lowest that it may take. One at a time."""
    misspelt = _misspelt(table, name) if run_id.endswith(_BY_HAND) else None
    if misspelt is not None:
        return misspelt
    if task_id is not None:
        refused = _refused_by(table, name, role, table.get(task_id))
        return refused or _claimed(name, run_id, task_id)
    busy = _busy(table, name)
    lowest = None if busy else table.lowest_claimable(name, role)
    return _claimed(name, run_id, lowest) if lowest else busy or _nothing_ready(table, name)


def complete(table: TaskTable, task_id: str, token: str, result: TaskResult) -> Body | None:
    task = table.get(task_id)
    if _is_repeated(task, token, "completed"):
        return None
    _check_held(task, token)
    return _done(task, "completed", result=render_result(result))


def fail(table: TaskTable, task_id: str, token: str, reason: str) -> Body | None:
    task = table.get(task_id)
    if _is_repeated(task, token, "failed"):
        return None
    _check_held(task, token)
    return _done(task, "failed", reason=_sentence(reason))


def end_attempt(
    table: TaskTable, task_id: str, token: str, reason: str, attempts_max: int, *, final: bool = False
) -> Body:
    """Decide after an attempt without success: another one, or failed for good after the last.

    With `final` this one is the last, since the next would come to the same.
    """
    task = table.get(task_id)
    _check_held(task, token)
    attempts = task.attempts + 1
    told = _with_earlier(task, _sentence(reason))
    if final:
        return _done(task, "failed", reason=told, attempts=attempts)
    if attempts >= attempts_max:
        return _done(task, "failed", reason=f"{PARKED}: {told}", attempts=attempts)
    return _free(task, told, owner=_meant_for(task), attempts=attempts)


def _with_earlier(task: Task, reason: str) -> str:
    """Return why the attempts failed, the first one first: what comes later may only follow from it."""
    earlier = task.reason if task.attempts else None
    if not earlier:
        return reason
    return earlier if reason in earlier else f"{earlier}; attempt {task.attempts + 1}: {reason}"


def release(table: TaskTable, task_id: str, token: str, reason: str, *, to_nobody: bool = False) -> Body:
    """Give a task back to the agent that it was meant for, or to nobody when that is not there."""
    task = table.get(task_id)
    _check_held(task, token)
    return _free(task, reason, owner=None if to_nobody else _meant_for(task))


def free_dead(table: TaskTable, task_id: str, run_id: str, reason: str, crashes_max: int) -> Body | None:
    """Take a task from a life that has ended; None if that life does not hold it (any more).

    The owner is not restored: nobody is there to take it. `requires` stays.
    """
    task = table.get(task_id)
    if task.status != "in_progress" or task.claim is None or task.claim.run_id != run_id:
        return None
    crashes = task.crashes + 1
    if crashes >= crashes_max:
        return _done(task, "failed", reason=f"{PARKED}: {_sentence(reason)}", crashes=crashes)
    return _free(task, reason, owner=None, crashes=crashes)


def cancel(table: TaskTable, task_id: str, reason: str) -> Body | None:
    """Decide that a task is not wanted any more; who works on it is refused when it presents its token."""
    task = table.get(task_id)
    if task.status == "cancelled":
        return None
    if not may_move(task.status, "cancelled"):
        raise _finished(task)
    return _done(task, "cancelled", reason=_sentence(reason))


def retry(table: TaskTable, task_id: str, *, to_nobody: bool = False) -> Body | None:
    """Decide that a failed or cancelled task starts anew: no attempts, no claim, no reason.

    The owner is as after a release.
    """
    task = table.get(task_id)
    if task.status == "pending":
        return None
    if task.status == "in_progress":
        raise refusal("in_progress", f"{task.owner} works on task {task_id} now; nothing to retry", task)
    if not may_move(task.status, "pending"):
        raise _finished(task)
    owner = None if to_nobody else _meant_for(task)
    body = _free(task, "retry", owner=owner, attempts=0, crashes=0)
    body.pop("token", None)
    return body


def current_token(table: TaskTable, task_id: str, name: str) -> str:
    """Return the token of the claim that this agent has, or ended; else `not_owner`."""
    task = table.get(task_id)
    if task.claim is None or task.owner != name:
        holder = f"{task.owner} has it" if task.claim else "nobody has claimed it"
        raise refusal("not_owner", f"task {task_id} is not {name}'s: {holder}", task, owner=task.owner)
    return task.claim.token


def _claimed(name: str, run_id: str, task_id: str) -> Body:
    return {"op": "claim", "by": name, "id": task_id, "run": run_id}


def _misspelt(table: TaskTable, name: str) -> Refusal | None:
    """Refuse a name that nobody has given out, and that somebody at work has in another case."""
    spelling = other_spelling(name, filter(None, (task.owner for task in table.in_progress())))
    if spelling is None:
        return None
    message = f"there is no {name}, but {spelling}, who is at work; write it like that"
    return Refusal(code="bad_name", message=message, details={"value": name, "suggestion": spelling})


def _busy(table: TaskTable, name: str) -> Refusal | None:
    held = table.in_progress_of(name)
    if not held:
        return None
    message = f"{name} is on task {held[0]} and takes one at a time: complete or release that first"
    return Refusal(code="agent_busy", message=message, details={"agent": name, "task": held[0]})


def _refused_by(table: TaskTable, name: str, role: str | None, task: Task) -> Refusal | None:
    if task.finished:
        return _refusal(task, "finished", f"task {task.id} is {task.status}", status=task.status)
    if task.status == "in_progress" and task.owner != name:
        return _taken(task)
    busy = _busy(table, name)
    if busy:
        return busy
    blockers = table.open_blockers(task.id)
    if blockers:
        waits = ", ".join(_described(table, blocker) for blocker in blockers)
        return _refusal(task, "blocked", f"task {task.id} waits for {waits}", open_blockers=list(blockers))
    return unfit(table, name, role, task)


def unfit(table: TaskTable, name: str, role: str | None, task: Task) -> Refusal | None:
    """Return why this agent may not take a task that is ready; None when it may."""
    if task.requires and not task.requires.fits(name, role):
        wanted = task.requires.agent or f"a {task.requires.role}"
        return _refusal(
            task, "requires_unmet", f"task {task.id} is for {wanted}, not for {name}", wanted=wanted
        )
    if task.owner not in (None, name, role):
        return _taken(task)
    overlapping = table.overlapping(task)
    if overlapping:
        others = ", ".join(overlapping)
        message = f"task {task.id} writes files of task {others}, which is in progress: claim it afterwards"
        return _refusal(task, "files_overlap", message, overlapping=list(overlapping))
    return None


def _refusal(task: Task, code: str, message: str, **details: Any) -> Refusal:
    return Refusal(code=code, message=message, details={"task": task.id, **details})


def _taken(task: Task) -> Refusal:
    verb = "works on" if task.status == "in_progress" else "is assigned"
    return _refusal(task, "taken", f"{task.owner} {verb} task {task.id}", owner=task.owner)


def _nothing_ready(table: TaskTable, name: str) -> Refusal:
    counts = table.counts()
    shown = ", ".join(f"{counts[key]} {key}" for key in ("ready", "blocked", "in_progress"))
    message = f"no task is ready for {name} ({shown})"
    return Refusal(code="nothing_ready", message=message, details={"agent": name, "tasks": counts})


def _described(table: TaskTable, task_id: str) -> str:
    task = table.find(task_id)
    facts = ", ".join(filter(None, [task.status, task.owner])) if task else "missing"
    return f"task {task_id} ({facts})"


def _is_repeated(task: Task, token: str, status: str) -> bool:
    return task.status == status and task.claim is not None and task.claim.token == token


def _check_held(task: Task, token: str) -> None:
    if task.claim is None or task.claim.token != token:
        now = f"it is {task.status}, owner {task.owner or 'nobody'}"
        message = f"the claim with this token has ended: nothing was changed in task {task.id}, {now}"
        raise refusal("stale_token", message, task, status=task.status, owner=task.owner)
    if task.finished:
        raise _finished(task)


def _finished(task: Task) -> TaskError:
    return refusal("finished", f"task {task.id} is {task.status} already", task, status=task.status)


def _done(task: Task, status: str, **fields: Any) -> Body:
    token = task.claim.token if task.claim else None
    return {"op": "done", "id": task.id, **present(token=token, status=status, **fields)}


def _free(task: Task, reason: str, *, owner: str | None, **counts: int) -> Body:
    token = task.claim.token if task.claim else None
    fields = present(token=token, reason=_sentence(reason), owner=owner)
    return {
        "op": "free",
        "id": task.id,
        **fields,
        "attempts": task.attempts,
        "crashes": task.crashes,
        **counts,
    }


def _meant_for(task: Task) -> str | None:
    return task.requires.agent if task.requires else None


def _sentence(reason: str) -> str:
    """Return a reason on one line; nobody may leave it out."""
    return " ".join(reason.split()) or "no reason given"
