"""The teammates of a team as rows of a screen: what each does, why, since when, and when last heard."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence

from swarm.cli.columns import align, clip
from swarm.cli.presence import Present
from swarm.cli.render import ago, paint, printable
from swarm.cli.session import Io
from swarm.core.agent import WHY_STOPPED, AgentRecord
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
_STATE, _DOES, _SINCE, _WHERE, _HEARD = 1, 2, 3, 4, 5
_DISPENSABLE = {_HEARD: 40, _WHERE: 40, _SINCE: 20}
_ROOM_LEAST = 6
_WRONG = frozenset({"dead", "stalled", "orphaned"})
_LATER = {"idle": 2, "stopped": 3, "unknown": 3}
_QUIET_STATES = frozenset({"stopped", "unknown"})
_INDENT = "  "
_REASONS: dict[tuple[str, str | None], str] = {
    **{("stopped", reason): why for reason, why in WHY_STOPPED.items()},
    ("waiting", "leader_gone"): "its leader is gone",
    ("waiting", "permission"): "asks for permission",
    ("waiting", "rate_limit"): "the model service is busy or out of reach",
    ("orphaned", None): "its leader is gone",
}


def rows(
    agents: Sequence[Present],
    subjects: Mapping[str, str],
    asked: Mapping[str, str],
    now: float,
    io: Io,
    room: int | None = None,
) -> Iterator[str]:
    """Yield a heading and one line for each teammate, or nothing without one.

    `asked`: how people call the open questions, by their ids.

    With `room` for so many lines only, those that need nobody's attention are but counted in the last one.
    """
    if not agents:
        return
    kept = agents if room is None or len(agents) < room else _most_pressing(agents, max(room, _ROOM_LEAST))
    found = [_row(agent, subjects, asked, now) for agent in kept]
    filled = [any(column) for column in zip(*found, strict=True)]
    cells = [tuple(name if some else "" for name, some in zip(_HEAD, filled, strict=True)), *found]
    limit = io.columns - len(_INDENT) if io.columns else None
    heading, *aligned = align(cells, limit=limit, flexible=_DOES, dispensable=_DISPENSABLE)
    yield paint(f"{_INDENT}{'  '.join(heading)}".rstrip(), "dim", enabled=io.color)
    for agent, line in zip(kept, aligned, strict=True):
        line[_STATE] = paint(line[_STATE], _style(agent), enabled=io.color)
        yield f"{_INDENT}{'  '.join(line)}".rstrip()
    left = [agent for agent in agents if agent not in kept]
    if left:
        more = f"{_INDENT}and {len(left)} more: {_counted(left)}"
        yield paint(clip(more, io.columns or sys.maxsize), "dim", enabled=io.color)


def _most_pressing(agents: Sequence[Present], room: int) -> list[Present]:
    """Return those for which there is room beside heading and last line, in the order of the roster."""
    pressing = sorted(agents, key=_rank)[: room - 2]
    return [agent for agent in agents if agent in pressing]


def _rank(agent: Present) -> int:
    """Return how soon somebody should see it: first what needs a hand, last what has ended."""
    asks = agent.record is not None and agent.record.reason in ("permission", "plan")
    if agent.state in _WRONG or has_failed(agent) or agent.start_was_cut or asks:
        return 0
    return _LATER.get(agent.state, 1)


def _counted(agents: Sequence[Present]) -> str:
    words = [_word(agent) for agent in agents]
    return ", ".join(f"{words.count(word)} {word}" for word in dict.fromkeys(words))


def has_failed(agent: Present) -> bool:
    """Whether it ended by a fault."""
    return agent.record is not None and (agent.record.state, agent.record.reason) == ("stopped", "failed")


def _style(agent: Present) -> str:
    return "red" if has_failed(agent) else _STATE_STYLES.get(agent.state, "")


def _word(agent: Present) -> str:
    return agent.state if agent.record is not None else "never started"


def _row(
    agent: Present, subjects: Mapping[str, str], asked: Mapping[str, str], now: float
) -> tuple[str, ...]:
    record, mail = agent.record, _mail(agent)
    if record is None:
        return (agent.member.name, "", _word(agent), "", "", "", mail)
    heard = ""
    if agent.heartbeat_age is not None and agent.state not in _QUIET_STATES:
        heard = f"{ago(agent.heartbeat_age)} ago"
    task = f"task {record.task} {subjects.get(record.task, '')}".rstrip() if record.task else ""
    does = ": ".join(filter(None, (_why(agent, record, asked), task)))
    return (agent.member.name, agent.state, does, _since(record, now), record.backend, heard, mail)


def _mail(agent: Present) -> str:
    if agent.unread is None:
        return "mail damaged"
    return f"{agent.unread} unread" if agent.unread else ""


def _why(agent: Present, record: AgentRecord, asked: Mapping[str, str]) -> str:
    """Return why it is in this state, where that says more than the state."""
    if agent.state == "dead":
        return "its process is gone"
    if agent.state == "stalled":
        return f"no sign of life for {ago(agent.heartbeat_age or 0.0)}"
    if agent.start_was_cut:
        return "its start was cut short"
    if record.reason == "waiting_for_task" and record.on:
        return f"waiting for task {record.on}"
    if record.state == "stopped" and record.why:
        return printable(f"failed: {record.why}")
    if record.state == "waiting" and record.on and record.on in asked:
        return printable(f"asks {asked[record.on]}")
    known = _REASONS.get((record.state, record.reason))
    return known if known is not None else (record.reason or "").replace("_", " ")


def _since(record: AgentRecord, now: float) -> str:
    try:
        return ago(now - parse_time(record.since))
    except ValueError:
        return ""
