"""`swarm status`: one screen that says who does what and how far the team is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from swarm.cli import crew
from swarm.cli.board import Board, style, symbol, the_board, with_problems
from swarm.cli.presence import Present, agent_object, look
from swarm.cli.render import count, paint, printable
from swarm.cli.session import Io, the_team
from swarm.core.money import shown_usd, usd_of
from swarm.core.roster import Roster
from swarm.storage.leadership import leader_state
from swarm.storage.team import Team


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
            "usd": usd_of(team.costs.table().total.micros),
        }
        io.print_json(with_problems(shown, board))
        return 0
    subjects = {shown.task.id: shown.task.subject for shown in board.tasks}
    for line in (*_head(team, roster, io), *_money(team), "", *_progress(board, io), *_questions(asked, io)):
        io.print(line)
    for number, line in enumerate(crew.rows(agents, subjects, team.clock.now(), io)):
        io.print(line if number else f"\n{line}")
    for number, line in enumerate(_advice(team, agents, board)):
        io.print(line if number else f"\n{line}")
    return 0


def _head(team: Team, roster: Roster, io: Io) -> Iterator[str]:
    yield paint(printable(team.name), "bold", enabled=io.color) + (
        f"  {printable(roster.description)}" if roster.description else ""
    )
    leader = {"alive": "leader alive", "gone": "leader gone", "none": "no leader"}[leader_state(team)]
    yield f"{printable(roster.workspace or 'workspace unknown')}; {leader}"


def _money(team: Team) -> Iterator[str]:
    costs = team.costs.table()
    if costs.total.micros or costs.limit is not None:
        limit = "" if costs.limit is None else f" of {shown_usd(costs.limit)}"
        yield f"{shown_usd(costs.total.micros)}{limit} spent"


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


def _advice(team: Team, agents: Sequence[Present], board: Board) -> Iterator[str]:
    """Yield the command that helps where something has come to a stand."""
    states = {
        state: [one.member.name for one in agents if one.state == state] for state in ("dead", "paused")
    }
    unfinished = any(not shown.task.finished for shown in board.tasks)
    if leader_state(team) == "gone" and unfinished:
        yield f"swarm resume {team.name} takes the run up again"
    elif states["dead"]:
        yield f"swarm restart {states['dead'][0]} starts it anew"
    if states["paused"]:
        yield f"swarm continue {states['paused'][0]} lets it go on"


def _questions(asked: int, io: Io) -> Iterator[str]:
    if asked:
        yield paint(f"{count(asked, 'permission request')} open", "yellow", enabled=io.color)
