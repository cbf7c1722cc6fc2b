"""`swarm status`: one screen that says who does what and how far the team is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from swarm.cli.board import Board, style, symbol, the_board, with_problems
from swarm.cli.columns import align
from swarm.cli.presence import Present, agent_object, leader_state, look
from swarm.cli.render import ago, count, paint, printable
from swarm.cli.session import Io, the_team
from swarm.core.roster import Roster
from swarm.core.times import parse_time
from swarm.storage.team import Team

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
_DOING = 2
_STATE = 1


def status(args: Mapping[str, Any], io: Io) -> int:
    """Print the state of a team as its files and the process table have it now."""
    team = the_team(args, io)
    roster = team.roster.load()
    board = the_board(team, io)
    agents = look(team, roster)
    asked = len(team.permissions.pending())
    if io.json:
        shown = {
            "team": team.name,
            "native": True,  # others are not opened
            "agents": [agent_object(agent) for agent in agents],
            "tasks": board.counts(),
            "permissions": asked,
            "usd": 0.0,  # only the scripted model is built, and it is free
        }
        io.print_json(with_problems(shown, board))
        return 0
    for line in (*_head(team, roster, io), *_progress(board, io), *_questions(asked, io)):
        io.print(line)
    _print_agents(agents, board, team, io)
    return 0


def _head(team: Team, roster: Roster, io: Io) -> Iterator[str]:
    yield paint(printable(team.name), "bold", enabled=io.color) + (
        f"  {printable(roster.description)}" if roster.description else ""
    )
    leader = {"alive": "leader alive", "gone": "leader gone", "none": "no leader"}[leader_state(team)]
    yield f"{printable(roster.workspace or 'workspace unknown')}; {leader}"
    yield ""


def _progress(board: Board, io: Io) -> Iterator[str]:
    counts = board.counts()
    total = len(board.tasks)
    if not total:
        yield "no tasks yet; add one with swarm task add"
        return
    parts = []
    for state in ("completed", "in progress", "ready", "blocked", "failed", "cancelled"):
        number = counts[state.replace(" ", "_")]
        if number:
            sign = symbol(state, unicode=io.unicode)
            parts.append(paint(f"{sign} {number} {state}", style(state), enabled=io.color))
    yield f"{count(total, 'task')}: {'  '.join(parts)}"


def _questions(asked: int, io: Io) -> Iterator[str]:
    if asked:
        yield paint(f"{count(asked, 'permission request')} open", "yellow", enabled=io.color)


def _print_agents(agents: tuple[Present, ...], board: Board, team: Team, io: Io) -> None:
    if not agents:
        return
    io.print()
    subjects = {shown.task.id: shown.task.subject for shown in board.tasks}
    now = team.clock.now()
    rows = [_row(agent, subjects, now) for agent in agents]
    for agent, cells in zip(agents, align(rows, limit=_limit(io), flexible=_DOING), strict=True):
        cells[_STATE] = paint(cells[_STATE], _STATE_STYLES.get(agent.state, ""), enabled=io.color)
        io.print("  " + "  ".join(cells).rstrip())


def _limit(io: Io) -> int | None:
    return io.columns - 2 if io.columns else None


def _row(agent: Present, subjects: Mapping[str, str], now: float) -> tuple[str, ...]:
    if agent.unread is None:
        unread = f"its mail is damaged: see swarm mail {agent.member.name}"
    else:
        unread = f"{count(agent.unread, 'message')} unread" if agent.unread else ""
    return (agent.member.name, agent.state, _doing(agent, subjects), _since(agent, now), unread)


def _doing(agent: Present, subjects: Mapping[str, str]) -> str:
    """Return what it is on, or why it is on nothing."""
    record = agent.record
    if record is None:
        return "never started"
    task = f"task {record.task} {subjects.get(record.task, '')}".rstrip() if record.task else ""
    reason = (record.reason or "").replace("_", " ")
    if record.reason == "waiting_for_task" and record.on:
        reason = f"waiting for task {record.on}"
    if agent.state == "stalled":
        reason = f"no sign of life for {ago(agent.heartbeat_age or 0.0)}"
    return ": ".join(filter(None, (reason, task)))


def _since(agent: Present, now: float) -> str:
    if agent.record is None:
        return ""
    try:
        return ago(now - parse_time(agent.record.since))
    except ValueError:
        return ""
