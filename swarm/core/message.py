"""Mail between agents: the envelope, and the control messages that travel as JSON in its text."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from swarm.core.fields import (
    EMPTY,
    an_object,
    optional_flag,
    optional_integer,
    optional_text,
    present,
    rest,
    text,
    text_or_empty,
)
from swarm.core.identity import LEADER, RUNTIME, USER
from swarm.core.permission import PermissionRequest
from swarm.core.times import parse_time
from swarm.values import Value

URGENT = "urgent"
SHUTDOWN_REQUEST = "shutdown_request"
PAUSE_ORDER = "swarm.pause"
CONTINUE_ORDER = "swarm.continue"
ANSWERS = frozenset({"plan_approval_response", "permission_response"})
"""Told for the record: what counts is the answer's file, which no agent can write."""
ORDERS = frozenset({SHUTDOWN_REQUEST, PAUSE_ORDER, CONTINUE_ORDER}) | ANSWERS
"""Kinds from the leader that the runtime of a teammate takes for itself; its model never sees them."""
_FROM_LEADER = ORDERS
_TO_LEADER = frozenset(
    {"idle_notification", "shutdown_approved", "shutdown_rejected", "plan_approval_request"}
    | {"permission_request", "swarm.task_report"}
)
CONTROL_KINDS = _FROM_LEADER | _TO_LEADER


class Message(Value):
    """One message; the same object in inbox, overflow file and history (there with `acked_at`)."""

    sender: str
    text: str
    to: str = ""
    summary: str | None = None
    timestamp: str = ""
    color: str | None = None
    msg_id: str
    type: str = "message"
    read: bool = False
    priority: str | None = None
    in_reply_to: str | None = None
    expires_at: str | None = None
    acked_at: str | None = None
    expired: bool | None = None
    msg_v: int | None = 1
    extra: Mapping[str, Any] = EMPTY


def parse_message(obj: Mapping[str, Any], ordinal: int = 0) -> Message:
    """Return one message of any client; only `from` and `text` must be there.

    Mail without `msg_id` gets one that is the same at every reading: a hash of its content and of
    `ordinal`, its place among equal messages of the same file.
    """
    return Message(
        sender=text(obj, "from"),
        to=text_or_empty(obj, "to"),
        text=text(obj, "text"),
        summary=optional_text(obj, "summary"),
        timestamp=text_or_empty(obj, "timestamp"),
        color=optional_text(obj, "color"),
        msg_v=optional_integer(obj, "msgV"),
        msg_id=optional_text(obj, "msg_id") or _foreign_id(obj, ordinal),
        type=optional_text(obj, "type") or "message",
        read=bool(optional_flag(obj, "read")),
        in_reply_to=optional_text(obj, "in_reply_to"),
        priority=optional_text(obj, "priority"),
        expires_at=optional_text(obj, "expires_at"),
        acked_at=optional_text(obj, "acked_at"),
        expired=optional_flag(obj, "expired"),
        extra=rest(obj, _MESSAGE_KEYS),
    )


def parse_messages(array: Sequence[Any]) -> tuple[Message, ...]:
    """Return the messages of one inbox file, in order."""
    seen: dict[tuple[Any, ...], int] = {}
    messages: list[Message] = []
    for item in array:
        obj = an_object(item, "a message")
        same = (obj.get("from"), obj.get("timestamp"), obj.get("text"))
        ordinal = seen[same] = seen.get(same, -1) + 1
        messages.append(parse_message(obj, ordinal))
    return tuple(messages)


def render_message(message: Message) -> dict[str, Any]:
    known = {
        "from": message.sender,
        **present(
            to=message.to or None,
            text=message.text,
            summary=message.summary,
            timestamp=message.timestamp or None,
            color=message.color,
            msgV=message.msg_v,
            msg_id=message.msg_id,
            type=message.type,
            read=message.read,
            in_reply_to=message.in_reply_to,
            priority=message.priority,
            expires_at=message.expires_at,
            acked_at=message.acked_at,
            expired=message.expired,
        ),
    }
    return {**known, **message.extra}


def order_for_peek(messages: Iterable[Message]) -> tuple[Message, ...]:
    """Return urgent messages first; among the urgent, and among the others, the order of arrival stays."""
    return tuple(sorted(messages, key=lambda message: message.priority != URGENT))


def parse_control(body: str) -> dict[str, Any] | None:
    """Return the control message in a text, or None for anything else: unknown kinds are plain text."""
    if not body.startswith("{"):
        return None
    try:
        obj = json.loads(body)
    except (ValueError, RecursionError):
        return None
    known = isinstance(obj, dict) and isinstance(obj.get("type"), str) and obj["type"] in CONTROL_KINDS
    return obj if known else None


def may_send(kind: str, sender: str, recipient: str) -> bool:
    """Tell whether a control message of this kind is obeyed; one that is not is shown as text.

    Orders come from the leader alone, reports go to it alone. A person's mail is text, too:
    at the command line anybody can claim to be `user`.
    """
    if kind in _FROM_LEADER:
        return sender == LEADER and recipient != LEADER
    return kind in _TO_LEADER and recipient == LEADER and sender not in (LEADER, USER, RUNTIME)


def idle_notification(sender: str, reason: str, at: str, summary: str | None = None) -> str:
    """Return the text that tells the leader why this agent has nothing to do."""
    return _control("idle_notification", **{"from": sender}, timestamp=at, idleReason=reason, summary=summary)


def shutdown_request(sender: str, target: str, at: str, reason: str | None = None) -> str:
    request_id = f"shutdown-{round(parse_time(at) * 1000)}@{target}"
    return _control("shutdown_request", requestId=request_id, **{"from": sender}, reason=reason, timestamp=at)


def pause_order(at: str, *, go_on: bool = False) -> str:
    """Return the text that makes a teammate pause, or go on."""
    return _control(CONTINUE_ORDER if go_on else PAUSE_ORDER, **{"from": LEADER}, timestamp=at)


def shutdown_reply(
    request_id: str, sender: str, at: str, *, approved: bool, reason: str | None = None
) -> str:
    kind = "shutdown_approved" if approved else "shutdown_rejected"
    return _control(kind, requestId=request_id, **{"from": sender}, reason=reason, timestamp=at)


def plan_approval_request(sender: str, request_id: str, path: str, plan: str, at: str) -> str:
    """Return the text that asks the leader to approve a plan; the answer to it is a file."""
    return _control(
        "plan_approval_request",
        **{"from": sender},
        timestamp=at,
        planFilePath=path,
        planContent=plan,
        requestId=request_id,
    )


def plan_approval_response(
    request_id: str, at: str, *, approved: bool, mode: str | None = None, feedback: str | None = None
) -> str:
    """Return the text that tells a teammate, and whoever reads its mail, what became of its plan."""
    return _control(
        "plan_approval_response",
        requestId=request_id,
        approved=approved,
        feedback=feedback,
        timestamp=at,
        permissionMode=mode,
    )


def permission_request(request: PermissionRequest, suggestions: Sequence[Mapping[str, Any]]) -> str:
    """Return the text that tells the leader of a question; the question itself is a file."""
    described = request.input.get("description")
    return _control(
        "permission_request",
        request_id=request.id,
        agent_id=request.agent,
        tool_name=request.tool,
        tool_use_id=request.tool_use_id,
        description=described if isinstance(described, str) else request.why,
        input=dict(request.input),
        permission_suggestions=list(suggestions),
    )


def task_report(
    task_id: str, status: str, summary: str | None, reason: str | None, unblocked: Sequence[str], at: str
) -> str:
    """Return the text that tells the leader how a task ended (`completed`, `failed` or `released`)."""
    return _control(
        "swarm.task_report",
        taskId=task_id,
        status=status,
        summary=summary,
        reason=reason,
        unblocked=list(unblocked),
        timestamp=at,
    )


def _control(kind: str, **fields: Any) -> str:
    return json.dumps({"type": kind, **present(**fields)}, ensure_ascii=False)


def _foreign_id(obj: Mapping[str, Any], ordinal: int) -> str:
    import hashlib

    parts = json.dumps([obj["from"], obj.get("timestamp"), obj["text"], ordinal])
    return f"foreign-{hashlib.sha256(parts.encode()).hexdigest()[:32]}"


_MESSAGE_KEYS = frozenset(
    {"from", "to", "text", "summary", "timestamp", "color", "msgV", "msg_id", "type", "read", "in_reply_to"}
    | {"priority", "expires_at", "acked_at", "expired"}
)
