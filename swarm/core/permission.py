"""A question that an agent may not answer for itself, and the answer to it.

Both are bound to a digest of the call, so that an answer cannot be used for another call.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from swarm.core.fields import (
    EMPTY,
    mapping,
    optional_integer,
    optional_text,
    present,
    rest,
    text,
    text_or_empty,
)
from swarm.values import Value

PLAN_TOOL = "ExitPlanMode"
"""The tool that hands in a plan: the question whether it may run is the question whether the plan is good."""

OUTCOMES = ("allow", "deny", "expired")
VIAS = ("rule", "classifier", "human", "runtime")


class PermissionRequest(Value):
    """One tool call that waits for a decision; `why` and `suggested_rule` are for the person who is asked.

    `number` is what people call it by: small, counted within the team, given when it is written down.
    """

    id: str
    agent: str
    run_id: str
    tool: str
    tool_use_id: str
    input: Mapping[str, Any]
    cwd: str
    why: str
    digest: str
    created_at: str
    deadline_at: str
    task: str | None = None
    suggested_rule: str | None = None
    number: int | None = None
    extra: Mapping[str, Any] = EMPTY


class Resolution(Value):
    """The decision on one request. `input` replaces the tool's input; `request` is the request it answers."""

    id: str
    digest: str
    outcome: str
    via: str
    by: str
    at: str
    note: str | None = None
    input: Mapping[str, Any] | None = None
    rule: str | None = None
    request: Mapping[str, Any] | None = None
    extra: Mapping[str, Any] = EMPTY


def called(one: PermissionRequest | Resolution) -> str:
    """Return how people call a question: by its number, `#3`, or by its id where it has none."""
    number = (one.request or {}).get("number") if isinstance(one, Resolution) else one.number
    return one.id if number is None else f"#{number}"


def request_digest(tool: str, tool_input: Mapping[str, Any], cwd: str) -> str:
    """Return the digest of a call: SHA-256 over its compact JSON with sorted keys."""
    import hashlib

    call = {"cwd": cwd, "input": tool_input, "tool": tool}
    body = json.dumps(call, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"sha256:{hashlib.sha256(body.encode('utf-8', 'surrogatepass')).hexdigest()}"


def plan_request_id(agent: str, team: str, at: float) -> str:
    """Return the id of the question about a plan, in the form that other clients give it."""
    return f"{_PLAN_REQUEST}{round(at * 1000)}@{agent}@{team}"


def is_plan_request(request_id: str) -> bool:
    return request_id.startswith(_PLAN_REQUEST)


_PLAN_REQUEST = "plan_approval-"


def parse_request(obj: Mapping[str, Any]) -> PermissionRequest:
    return PermissionRequest(
        id=text(obj, "id"),
        agent=text(obj, "agent"),
        run_id=text(obj, "run_id"),
        task=optional_text(obj, "task"),
        tool=text(obj, "tool"),
        tool_use_id=text_or_empty(obj, "tool_use_id"),
        input=mapping(obj, "input"),
        cwd=text(obj, "cwd"),
        why=text_or_empty(obj, "why"),
        suggested_rule=optional_text(obj, "suggested_rule"),
        number=optional_integer(obj, "number"),
        digest=text(obj, "digest"),
        created_at=text(obj, "created_at"),
        deadline_at=text(obj, "deadline_at"),
        extra=rest(obj, _REQUEST_KEYS),
    )


def render_request(request: PermissionRequest) -> dict[str, Any]:
    known = present(
        id=request.id,
        number=request.number,
        agent=request.agent,
        run_id=request.run_id,
        task=request.task,
        tool=request.tool,
        tool_use_id=request.tool_use_id,
        input=dict(request.input),
        cwd=request.cwd,
        why=request.why,
        suggested_rule=request.suggested_rule,
        digest=request.digest,
        created_at=request.created_at,
        deadline_at=request.deadline_at,
    )
    return {**known, **request.extra}


def parse_resolution(obj: Mapping[str, Any]) -> Resolution:
    """Return a resolution; an unknown outcome is a ValueError, never taken for consent."""
    outcome = text(obj, "outcome")
    if outcome not in OUTCOMES:
        raise ValueError(f"outcome should be one of {', '.join(OUTCOMES)}, not {outcome!r}")
    return Resolution(
        id=text(obj, "id"),
        digest=text(obj, "digest"),
        outcome=outcome,
        via=text(obj, "via"),
        by=text(obj, "by"),
        note=optional_text(obj, "note"),
        input=mapping(obj, "input") if obj.get("input") is not None else None,
        rule=optional_text(obj, "rule"),
        at=text(obj, "at"),
        request=mapping(obj, "request") if obj.get("request") is not None else None,
        extra=rest(obj, _RESOLUTION_KEYS),
    )


def render_resolution(resolution: Resolution) -> dict[str, Any]:
    known = present(
        id=resolution.id,
        digest=resolution.digest,
        outcome=resolution.outcome,
        via=resolution.via,
        by=resolution.by,
        note=resolution.note,
        input=resolution.input,
        rule=resolution.rule,
        at=resolution.at,
        request=resolution.request,
    )
    return {**known, **resolution.extra}


_REQUEST_KEYS = frozenset(
    {
        "id",
        "number",
        "agent",
        "run_id",
        "task",
        "tool",
        "tool_use_id",
        "input",
        "cwd",
        "why",
        "suggested_rule",
        "digest",
    }
    | {"created_at", "deadline_at"}
)
_RESOLUTION_KEYS = frozenset(
    {"id", "digest", "outcome", "via", "by", "note", "input", "rule", "at", "request"}
)
