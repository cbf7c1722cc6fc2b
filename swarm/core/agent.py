"""The record of one agent's process: who it is, what it does now, and the sign of life it gives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from swarm.core.fields import (
    EMPTY,
    an_object,
    integer,
    mapping,
    optional_integer,
    optional_text,
    present,
    rest,
    text,
    text_or_empty,
    wrong,
)
from swarm.values import Value

STATES = ("starting", "working", "waiting", "idle", "paused", "orphaned", "stopped")
"""States that are written. `stalled`, `dead` and `unknown` are worked out by readers, see `derive_state`."""

IDLE_REASONS = ("no_task", "waiting_for_task", "budget_spent", "finished")
WAITING_REASONS = ("permission", "plan", "rate_limit", "leader_gone")
WHY_STOPPED = {
    "asked": "was asked to",
    "killed": "was ended from outside",
    "failed": "failed",
    "orphaned": "its leader was gone",
}
"""The reasons with which an agent stops, as people are told them."""


class ToolProcess(Value):
    """A command that a tool runs: written before it starts, so that whoever outlives the agent can end it."""

    tool_use_id: str
    name: str
    since: str
    pgid: int | None = None
    start_ticks: int | None = None
    extra: Mapping[str, Any] = EMPTY


class AgentRecord(Value):
    """One life of one agent. `pid` is absent until it is ready; `leader` is set when a leader lived at spawn.

    `until` (a time) or `on` (a task's or request's id) says what a waiting or idle agent waits for; `why` in
    a sentence what made one fail that had come up well.
    """

    name: str
    run_id: str
    backend: str
    state: str
    since: str
    host: str = ""
    boot_id: str = ""
    pid_ns: int = 0
    pid: int | None = None
    start_ticks: int | None = None
    leader: str | None = None
    handle: Mapping[str, Any] = EMPTY
    reason: str | None = None
    why: str | None = None
    until: str | None = None
    on: str | None = None
    task: str | None = None
    session: str | None = None
    started_at: str | None = None
    heartbeat: str | None = None
    tools: tuple[ToolProcess, ...] = ()
    extra: Mapping[str, Any] = EMPTY


def derive_state(
    record: AgentRecord, liveness: str, heartbeat_age: float | None, stalled_after: float
) -> str:
    """Return the state as a reader should show it, given `alive`, `dead` or `unknown`.

    Silence never makes an agent dead: only the end of its process does. An agent that has not
    reported its process yet is `starting`, whatever can be found out about it.
    """
    if record.state == "stopped" or (record.state == "starting" and record.pid is None):
        return record.state
    if liveness != "alive":
        return liveness
    return "stalled" if heartbeat_age is not None and heartbeat_age > stalled_after else record.state


def parse_tool_process(obj: Mapping[str, Any]) -> ToolProcess:
    return ToolProcess(
        tool_use_id=text(obj, "tool_use_id"),
        name=text(obj, "name"),
        since=text_or_empty(obj, "since"),
        pgid=optional_integer(obj, "pgid"),
        start_ticks=optional_integer(obj, "start_ticks"),
        extra=rest(obj, _TOOL_KEYS),
    )


def render_tool_process(tool: ToolProcess) -> dict[str, Any]:
    known = present(
        tool_use_id=tool.tool_use_id,
        name=tool.name,
        pgid=tool.pgid,
        start_ticks=tool.start_ticks,
        since=tool.since,
    )
    return {**known, **tool.extra}


def parse_agent(obj: Mapping[str, Any]) -> AgentRecord:
    return AgentRecord(
        name=text(obj, "name"),
        run_id=text(obj, "run_id"),
        leader=optional_text(obj, "leader"),
        host=text_or_empty(obj, "host"),
        boot_id=text_or_empty(obj, "boot_id"),
        pid_ns=integer(obj, "pid_ns", 0),
        pid=optional_integer(obj, "pid"),
        start_ticks=optional_integer(obj, "start_ticks"),
        backend=text(obj, "backend"),
        handle=mapping(obj, "handle"),
        state=_state(obj),
        since=text(obj, "since"),
        reason=optional_text(obj, "reason"),
        why=optional_text(obj, "why"),
        until=optional_text(obj, "until"),
        on=optional_text(obj, "on"),
        task=optional_text(obj, "task"),
        session=optional_text(obj, "session"),
        started_at=optional_text(obj, "started_at"),
        heartbeat=optional_text(obj, "heartbeat"),
        tools=_tools(obj),
        extra=rest(obj, _AGENT_KEYS),
    )


def render_agent(record: AgentRecord) -> dict[str, Any]:
    known = present(
        name=record.name,
        run_id=record.run_id,
        leader=record.leader,
        host=record.host,
        boot_id=record.boot_id,
        pid_ns=record.pid_ns,
        pid=record.pid,
        start_ticks=record.start_ticks,
        backend=record.backend,
        handle=dict(record.handle),
        state=record.state,
        since=record.since,
        reason=record.reason,
        why=record.why,
        until=record.until,
        on=record.on,
        task=record.task,
        session=record.session,
        started_at=record.started_at,
        heartbeat=record.heartbeat,
        tools=[render_tool_process(tool) for tool in record.tools] or None,
    )
    return {**known, **record.extra}


def _state(obj: Mapping[str, Any]) -> str:
    value = text(obj, "state")
    if value not in STATES:
        raise ValueError(f"state should be one of {', '.join(STATES)}, not {value!r}")
    return value


def _tools(obj: Mapping[str, Any]) -> tuple[ToolProcess, ...]:
    value = obj.get("tools", [])
    if not isinstance(value, list):
        raise wrong("tools", "a list", value)
    return tuple(parse_tool_process(an_object(item, "a tool")) for item in value)


_TOOL_KEYS = frozenset({"tool_use_id", "name", "pgid", "start_ticks", "since"})
_AGENT_KEYS = frozenset(
    {
        "name",
        "run_id",
        "leader",
        "host",
        "boot_id",
        "pid_ns",
        "pid",
        "start_ticks",
        "backend",
        "handle",
        "state",
    }
    | {"since", "reason", "why", "until", "on", "task", "session", "started_at", "heartbeat", "tools"}
)
