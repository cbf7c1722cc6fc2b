"""The teammates of a team as rows of a screen: what each does, why, since when, and when last heard."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from swarm.cli.columns import align
from swarm.cli.presence import Present
from swarm.cli.render import ago, count, paint
from swarm.cli.session import Io
from swarm.core.agent import AgentRecord
from swarm.core.times import parse_time

_STATE_STYLES = {
    "working": "yellow",
    "starting": "yellow",
    "waiting": "cyan",
    "paused": "cyan",
    "stalled": "red",
    "dead": "red",
    "orphaned": "red",
    "stopped": "dim",
    "unknown": "dim",
}
_HEAD = ("agent", "state", "does", "since", "where", "heard", "")
_STATE, _DOES = 1, 2
_QUIET_STATES = frozenset({"stopped", "unknown"})
_INDENT = "  "
_REASONS = {
    ("stopped", "asked"): "was asked to",
    ("stopped", "killed"): "was ended from outside",
    ("stopped", "orphaned"): "its leader was gone",
    ("waiting", "leader_gone"): "its leader is gone",
    ("waiting", "permission"): "asks for permission",
    ("orphaned", None): "its leader is gone",
}


def rows(agents: Sequence[Present], subjects: Mapping[str, str], now: float, io: Io) -> Iterator[str]:
    """Yield a heading and one line for each teammate, or nothing without one."""
    if not agents:
        return
    cells = [_HEAD, *(_row(agent, subjects, now) for agent in agents)]
    limit = io.columns - len(_INDENT) if io.columns else None
    heading, *aligned = align(cells, limit=limit, flexible=_DOES)
    yield paint(f"{_INDENT}{'  '.join(heading)}".rstrip(), "dim", enabled=io.color)
    for agent, line in zip(agents, aligned, strict=True):
        line[_STATE] = paint(line[_STATE], _STATE_STYLES.get(agent.state, ""), enabled=io.color)
        yield f"{_INDENT}{'  '.join(line)}".rstrip()


def _row(agent: Present, subjects: Mapping[str, str], now: float) -> tuple[str, ...]:
    record = agent.record
    does, since, where, heard = "never started", "", "", ""
    if record is not None:
        does, since, where = _does(agent, record, subjects), _since(record, now), record.backend
        if agent.heartbeat_age is not None and agent.state not in _QUIET_STATES:
            heard = f"{ago(agent.heartbeat_age)} ago"
    return (agent.member.name, agent.state, does, since, where, heard, _unread(agent))


def _unread(agent: Present) -> str:
    if agent.unread is None:
        return f"its mail is damaged: see swarm mail {agent.member.name}"
    return f"{count(agent.unread, 'message')} unread" if agent.unread else ""


def _does(agent: Present, record: AgentRecord, subjects: Mapping[str, str]) -> str:
    """Return what it is on, or why it is on nothing."""
    task = f"task {record.task} {subjects.get(record.task, '')}".rstrip() if record.task else ""
    return ": ".join(filter(None, (_why(agent, record), task)))


def _why(agent: Present, record: AgentRecord) -> str:
    if agent.state == "dead":
        return "its process is gone"
    if agent.state == "stalled":
        return f"no sign of life for {ago(agent.heartbeat_age or 0.0)}"
    if (record.state, record.reason) == ("stopped", "failed"):
        return f"failed: see swarm logs {record.name}"
    if record.reason == "waiting_for_task" and record.on:
        return f"waiting for task {record.on}"
    known = _REASONS.get((record.state, record.reason))
    return known if known is not None else (record.reason or "").replace("_", " ")


def _since(record: AgentRecord, now: float) -> str:
    try:
        return ago(now - parse_time(record.since))
    except ValueError:
        return ""
