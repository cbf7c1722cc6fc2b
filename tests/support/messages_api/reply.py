"""What the server answers: blocks, and what goes wrong while they are sent."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any, Literal

from swarm.values import Value

Block = dict[str, Any]

BEFORE_HEAD = -1
"""The place of a fault that comes before the status line; 0 is after the head, n after n events."""

ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    409: "conflict_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    504: "timeout_error",
    529: "overloaded_error",
}


class Fault(Value):
    """Something that happens after so many events of the plan (see `event_types`), or so many whole blocks.

    `error` sends an error event and ends the body; `close` ends the body as if it were complete; `cut`
    closes the connection in the middle of the body; `reset` does that with a TCP reset. These four are the
    end. `stall` waits `seconds`, `hold` until the gate opens (an Event, or a path that then exists), both
    with a ping every so often if asked; `event` sends one that is not in the plan.
    """

    kind: Literal["error", "close", "cut", "reset", "stall", "hold", "event"]
    after: int = BEFORE_HEAD
    after_blocks: int | None = None
    error: str = "overloaded_error"
    message: str = "Overloaded"
    seconds: float = 0.0
    ping_every: float | None = None
    gate: threading.Event | str | None = None
    event: dict[str, Any] | None = None

    def is_due(self, events: int, blocks: int) -> bool:
        """Tell whether it comes now, when so many events and whole blocks have been sent."""
        return blocks == self.after_blocks if self.after_blocks is not None else events == self.after


class Reply(Value):
    """One answer. A status other than 200 is an error without blocks.

    Without a stop reason it is `tool_use` when there is a call, else `end_turn`. `usage` takes the place of
    those counters that it names.
    """

    blocks: tuple[Block, ...] = ()
    stop_reason: str | None = None
    usage: Mapping[str, int] | None = None
    faults: tuple[Fault, ...] = ()
    event_delay: float = 0.0
    status: int = 200
    error: str = ""
    message: str = ""
    headers: tuple[tuple[str, str], ...] = ()

    def stops_for(self) -> str:
        if self.stop_reason is not None:
            return self.stop_reason
        return "tool_use" if any(block["type"] == "tool_use" for block in self.blocks) else "end_turn"

    def but(self, *faults: Fault) -> Reply:
        """Return this answer with these faults as well."""
        return self.replace(faults=(*self.faults, *faults))


def text(content: str) -> Block:
    return {"type": "text", "text": content}


def thinking(content: str) -> Block:
    """Return a thinking block; the server signs it when it sends it."""
    return {"type": "thinking", "thinking": content}


def redacted(data: str) -> Block:
    return {"type": "redacted_thinking", "data": data}


def call(
    name: str,
    tool_input: Mapping[str, Any] | None = None,
    *,
    call_id: str | None = None,
    raw_input: str | None = None,
) -> Block:
    """Return a call; the server makes the id. `raw_input` is sent as the JSON of its input as it stands."""
    block: Block = {"type": "tool_use", "name": name, "input": dict(tool_input or {})}
    if call_id is not None:
        block["id"] = call_id
    if raw_input is not None:
        block["raw_input"] = raw_input
    return block


def reply(*blocks: Block | str, **fields: Any) -> Reply:
    """Return an answer of these blocks; a string is a text block. The fields are those of `Reply`."""
    return Reply(blocks=tuple(text(b) if isinstance(b, str) else dict(b) for b in blocks), **fields)


def http_error(
    status: int,
    message: str = "",
    *,
    error: str = "",
    retry_after: float | str | None = None,
    retry_after_ms: float | None = None,
) -> Reply:
    """Return an answer with this status, in the envelope of the service."""
    headers = [("retry-after", retry_after), ("retry-after-ms", retry_after_ms)]
    return Reply(
        status=status,
        error=error or ERROR_TYPES.get(status, "api_error"),
        message=message or ERROR_TYPES.get(status, "api_error").replace("_", " ").capitalize(),
        headers=tuple((name, str(value)) for name, value in headers if value is not None),
    )


def error_event(
    error: str = "overloaded_error", message: str = "Overloaded", *, after: int = 0, blocks: int | None = None
) -> Fault:
    return Fault(kind="error", error=error, message=message, after=after, after_blocks=blocks)


def close(after: int = 0, *, blocks: int | None = None) -> Fault:
    return Fault(kind="close", after=after, after_blocks=blocks)


def cut(after: int = 0, *, blocks: int | None = None) -> Fault:
    return Fault(kind="cut", after=after, after_blocks=blocks)


def reset(after: int = 0, *, blocks: int | None = None) -> Fault:
    return Fault(kind="reset", after=after, after_blocks=blocks)


def stall(
    seconds: float, after: int = 0, *, blocks: int | None = None, ping_every: float | None = None
) -> Fault:
    return Fault(kind="stall", seconds=seconds, after=after, after_blocks=blocks, ping_every=ping_every)


def hold(
    gate: threading.Event | str,
    after: int = BEFORE_HEAD,
    *,
    blocks: int | None = None,
    ping_every: float | None = None,
) -> Fault:
    return Fault(kind="hold", gate=gate, after=after, after_blocks=blocks, ping_every=ping_every)


def odd_event(event: dict[str, Any], after: int = 1, *, blocks: int | None = None) -> Fault:
    """Return an event that no client knows yet; it must pass over it."""
    return Fault(kind="event", event=event, after=after, after_blocks=blocks)


def reply_from_json(data: Mapping[str, Any] | str) -> Reply:
    """Return the answer that a script file spells out: the fields of `Reply`, or just a text."""
    if isinstance(data, str):
        return reply(data)
    fields = dict(data)
    blocks = fields.pop("blocks", ())
    faults = tuple(Fault(**fault) for fault in fields.pop("faults", ()))
    if (status := fields.pop("status", 200)) != 200:
        return http_error(status, **fields).replace(faults=faults)
    return reply(*blocks, faults=faults, **fields)
