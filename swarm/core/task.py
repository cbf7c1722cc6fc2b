"""A task and what belongs to it: claim, result, who may take it; and the one table of status changes.

At top level of the file stand only fields that other clients know; all of ours is under `metadata.swarm`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from swarm.core.fields import (
    EMPTY,
    integer,
    mapping,
    optional_text,
    present,
    rest,
    text,
    text_or_empty,
    texts,
)
from swarm.values import Value

STATUSES = ("pending", "in_progress", "completed", "failed", "cancelled")
FINISHED = frozenset({"completed", "failed", "cancelled"})

_MOVES = frozenset(
    {
        ("pending", "in_progress"),
        ("pending", "cancelled"),
        ("in_progress", "pending"),
        ("in_progress", "completed"),
        ("in_progress", "failed"),
        ("in_progress", "cancelled"),
        ("failed", "pending"),
        ("cancelled", "pending"),
    }
)


def may_move(old: str, new: str) -> bool:
    """Tell whether a task may go from one status to the other; every path asks here."""
    return (old, new) in _MOVES


class Claim(Value):
    """Who is on a task (`name@team`), in which life, with which token, since when (time text)."""

    agent: str
    run_id: str
    token: str
    at: str
    extra: Mapping[str, Any] = EMPTY


class TaskResult(Value):
    """What a completed task left behind. `not_checked` holds what nobody verified, in the agent's words."""

    summary: str
    files: tuple[str, ...] = ()
    commit: str | None = None
    artifacts: tuple[str, ...] = ()
    not_checked: tuple[str, ...] = ()
    extra: Mapping[str, Any] = EMPTY


class Requires(Value):
    """Who alone may claim a task: one agent, or any agent of a role. It outlives claims."""

    agent: str | None = None
    role: str | None = None
    extra: Mapping[str, Any] = EMPTY

    def fits(self, name: str, role: str | None) -> bool:
        """Tell whether this agent may claim; where both are set the agent decides."""
        if self.agent is not None:
            return name == self.agent
        return self.role is None or role == self.role


class NewTask(Value):
    """What a creator decides; storage adds id, times and number. `blocked_by` holds ids of existing tasks."""

    subject: str
    description: str = ""
    active_form: str | None = None
    blocked_by: tuple[str, ...] = ()
    requires: Requires | None = None
    key: str | None = None
    files: tuple[str, ...] = ()
    verify: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = EMPTY


class Task(Value):
    """One task as its file holds it. `seq` is the last journal line in it; 0: another client made it.

    `text_by` is the agent that last changed the subject or description of a task that is not its own.
    """

    id: str
    subject: str
    description: str = ""
    status: str = "pending"
    owner: str | None = None
    active_form: str | None = None
    blocks: tuple[str, ...] = ()
    blocked_by: tuple[str, ...] = ()
    seq: int = 0
    key: str | None = None
    created_by: str = ""
    text_by: str | None = None
    created_at: str = ""
    updated_at: str = ""
    requires: Requires | None = None
    files: tuple[str, ...] = ()
    verify: tuple[str, ...] = ()
    attempts: int = 0
    crashes: int = 0
    claim: Claim | None = None
    result: TaskResult | None = None
    reason: str | None = None
    metadata: Mapping[str, Any] = EMPTY
    extra: Mapping[str, Any] = EMPTY
    swarm_extra: Mapping[str, Any] = EMPTY

    @property
    def finished(self) -> bool:
        return self.status in FINISHED


def worded_by(task: Task) -> str:
    """Return whose word the text of the task is; nothing where nobody is known."""
    return task.text_by or task.created_by


def verified(task: Task) -> bool:
    """Tell whether the task's own checks ran and passed: completion without them does not count."""
    checked = task.result is None or "verify" not in task.result.not_checked
    return task.status == "completed" and bool(task.verify) and checked


def parse_claim(obj: Mapping[str, Any]) -> Claim:
    return Claim(
        agent=text(obj, "agent"),
        run_id=text(obj, "run_id"),
        token=text(obj, "token"),
        at=text(obj, "at"),
        extra=rest(obj, _CLAIM_KEYS),
    )


def render_claim(claim: Claim) -> dict[str, Any]:
    known = {"agent": claim.agent, "run_id": claim.run_id, "token": claim.token, "at": claim.at}
    return {**known, **claim.extra}


def parse_result(obj: Mapping[str, Any]) -> TaskResult:
    return TaskResult(
        summary=text(obj, "summary"),
        files=texts(obj, "files"),
        commit=optional_text(obj, "commit"),
        artifacts=texts(obj, "artifacts"),
        not_checked=texts(obj, "not_checked"),
        extra=rest(obj, _RESULT_KEYS),
    )


def render_result(result: TaskResult) -> dict[str, Any]:
    known = present(
        summary=result.summary,
        files=list(result.files),
        commit=result.commit,
        artifacts=list(result.artifacts),
        not_checked=list(result.not_checked),
    )
    return {**known, **result.extra}


def parse_requires(obj: Mapping[str, Any]) -> Requires:
    return Requires(
        agent=optional_text(obj, "agent"), role=optional_text(obj, "role"), extra=rest(obj, _REQUIRES_KEYS)
    )


def render_requires(requires: Requires) -> dict[str, Any]:
    return {**present(agent=requires.agent, role=requires.role), **requires.extra}


def parse_task(obj: Mapping[str, Any]) -> Task:
    """Return the task of a parsed file; fields missing in another client's file get their defaults."""
    metadata = mapping(obj, "metadata")
    return Task(
        id=_task_id(obj),
        subject=text(obj, "subject"),
        description=text_or_empty(obj, "description"),
        status=_status(obj),
        owner=optional_text(obj, "owner") or None,
        active_form=optional_text(obj, "activeForm"),
        blocks=texts(obj, "blocks"),
        blocked_by=texts(obj, "blockedBy"),
        metadata=rest(metadata, _SWARM_ALONE),
        extra=rest(obj, _TASK_KEYS),
        **_parse_swarm(mapping(metadata, "swarm")),
    )


def render_task(task: Task) -> dict[str, Any]:
    """Return the file's object; an absent field is left out."""
    swarm = _render_swarm(task)
    metadata = {**task.metadata, **({"swarm": swarm} if swarm else {})}
    known = present(
        id=task.id,
        subject=task.subject,
        description=task.description,
        activeForm=task.active_form,
        status=task.status,
        owner=task.owner,
        blocks=list(task.blocks),
        blockedBy=list(task.blocked_by),
        metadata=metadata or None,
    )
    return {**known, **task.extra}


def _task_id(obj: Mapping[str, Any]) -> str:
    value = text(obj, "id")
    if not (value.isascii() and value.isdecimal()) or value[0] == "0":
        raise ValueError(f"id should be a decimal number as text, not {value!r}")
    return value


def _status(obj: Mapping[str, Any]) -> str:
    value = text(obj, "status")
    if value not in STATUSES:
        raise ValueError(f"status should be one of {', '.join(STATUSES)}, not {value!r}")
    return value


def _parse_swarm(obj: Mapping[str, Any]) -> dict[str, Any]:
    if not obj:
        return {}
    return {
        "seq": integer(obj, "seq", 0),
        "key": optional_text(obj, "key"),
        "created_by": text_or_empty(obj, "created_by"),
        "text_by": optional_text(obj, "text_by"),
        "created_at": text_or_empty(obj, "created_at"),
        "updated_at": text_or_empty(obj, "updated_at"),
        "requires": parse_requires(mapping(obj, "requires")) if obj.get("requires") is not None else None,
        "files": texts(obj, "files"),
        "verify": texts(obj, "verify"),
        "attempts": integer(obj, "attempts", 0),
        "crashes": integer(obj, "crashes", 0),
        "claim": parse_claim(mapping(obj, "claim")) if obj.get("claim") is not None else None,
        "result": parse_result(mapping(obj, "result")) if obj.get("result") is not None else None,
        "reason": optional_text(obj, "reason"),
        "swarm_extra": rest(obj, _SWARM_KEYS),
    }


def _render_swarm(task: Task) -> dict[str, Any]:
    tried = task.attempts or task.crashes  # a task that was never lost or failed shows neither count
    known = present(
        seq=task.seq or None,
        key=task.key,
        created_by=task.created_by or None,
        text_by=task.text_by,
        created_at=task.created_at or None,
        updated_at=task.updated_at or None,
        requires=render_requires(task.requires) if task.requires else None,
        files=list(task.files) or None,
        verify=list(task.verify) or None,
        attempts=task.attempts if tried else None,
        crashes=task.crashes if tried else None,
        claim=render_claim(task.claim) if task.claim else None,
        result=render_result(task.result) if task.result else None,
        reason=task.reason,
    )
    return {**known, **task.swarm_extra}


_TASK_KEYS = frozenset(
    {"id", "subject", "description", "activeForm", "status", "owner", "blocks", "blockedBy", "metadata"}
)
_SWARM_ALONE = frozenset({"swarm"})
_SWARM_KEYS = frozenset(
    {"seq", "key", "created_by", "text_by", "created_at", "updated_at", "requires", "files", "verify"}
    | {"attempts", "crashes", "claim", "result", "reason"}
)
_CLAIM_KEYS = frozenset({"agent", "run_id", "token", "at"})
_RESULT_KEYS = frozenset({"summary", "files", "commit", "artifacts", "not_checked"})
_REQUIRES_KEYS = frozenset({"agent", "role"})


def name_tasks(ids: Sequence[str]) -> str:
    """Return `task 1`, or `tasks 1, 2 and 3`."""
    *others, last = ids
    return f"tasks {', '.join(others)} and {last}" if others else f"task {last}"
