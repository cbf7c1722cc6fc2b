"""`swarm status`: one screen that says who does what and how far the team is."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from swarm.cli import crew
from swarm.cli.advice import Stand, advice
from swarm.cli.board import Board, style, symbol, the_board, with_problems
from swarm.cli.columns import clip, clip_start
from swarm.cli.presence import agent_object, look
from swarm.cli.render import count, paint, printable
from swarm.cli.session import Io, the_team
from swarm.core.breaking import hanging, width
from swarm.core.money import shown_usd, usd_of
from swarm.core.permission import PermissionRequest, called
from swarm.core.roster import Roster
from swarm.storage.leadership import leader_state
from swarm.storage.questions import asker_of
from swarm.storage.team import Team


def status(args: Mapping[str, Any], io: Io) -> int:
    """Print the state of a team as its files and the process table have it now."""
    team = the_team(args, io)

    def screen() -> Iterator[str]:
        return _screen(team, io, named=args["team"] is not None)

    if args["watch"]:
        from swarm.cli.status_watch import watch

        return watch(team, io, screen)
    if io.json:
        io.print_json(_as_json(team, io))
        return 0
    for line in screen():
        io.print(line)
    return 0


def _as_json(team: Team, io: Io) -> dict[str, Any]:
    agents, board = look(team, team.roster.load()), the_board(team, io)
    shown = {
        "team": team.name,
        "native": True,  # others are not opened
        "leader": leader_state(team),
        "agents": [agent_object(agent) for agent in agents],
        "tasks": board.counts(),
        "permissions": len(team.permissions.pending()),
        "usd": usd_of(team.costs.table().total.micros),
    }
    return with_problems(shown, board)


def _screen(team: Team, io: Io, *, named: bool) -> Iterator[str]:
    """Yield the lines; on a terminal as many as it has room for with the next prompt."""
    roster = team.roster.load()
    board, agents = the_board(team, io), look(team, roster)
    asked = [one for one in team.permissions.pending() if asker_of(team, one) == "alive"]
    leader = leader_state(team)
    above = [
        *_head(team, roster, leader, io),
        *_money(team),
        "",
        *_progress(board, io),
        *_questions(asked, f" -t {team.name}" if named else "", io),
    ]
    stand = Stand(
        team=team.name,
        named=named,
        led=leader == "alive",
        has_run=leader == "gone" or os.path.exists(team.layout.team_file),
        unfinished=any(not shown.task.finished for shown in board.tasks),
        grace_seconds=io.settings.orphan_grace_seconds if leader == "gone" else None,
        failed=tuple(shown.task.id for shown in board.tasks if shown.task.status == "failed"),
    )
    below = [line for told in advice(stand, agents) for line in hanging(told, io.columns, 2)]
    taken = len(above) + len(below) + bool(agents) + bool(below) + 1
    subjects = {shown.task.id: shown.task.subject for shown in board.tasks}
    names = {one.id: called(one) for one in asked}
    rows = [*crew.rows(agents, subjects, names, team.clock.now(), io, io.lines and io.lines - taken)]
    for number, part in enumerate((above, rows, below)):
        if number and part:
            yield ""
        yield from part


def _head(team: Team, roster: Roster, leader: str, io: Io) -> Iterator[str]:
    name, about = printable(team.name), printable(roster.description or "")
    room = io.columns or sys.maxsize
    yield paint(name, "bold", enabled=io.color) + (about and f"  {clip(about, room - width(name) - 2)}")
    state = {"alive": "leader alive", "gone": "leader gone", "none": "no leader"}[leader]
    workspace = printable(roster.workspace or "workspace unknown")
    yield f"{clip_start(workspace, room - len(state) - 2)}; {state}"


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
    plain, parts = [], []
    for state in ("completed", "in progress", "ready", "blocked", "failed", "cancelled"):
        number = counts[state.replace(" ", "_")]
        if number:
            sign = symbol(state, unicode=io.unicode)
            plain.append(f"{sign} {number} {state}")
            parts.append(paint(plain[-1], style(state), enabled=io.color))
    head = f"{count(total, 'task')}: "
    first, *rest = io.rows(f"{head}{'  '.join(plain)}")
    yield from (first, *rest) if rest else (f"{head}{'  '.join(parts)}",)


def _questions(asked: Sequence[PermissionRequest], which: str, io: Io) -> Iterator[str]:
    """Yield that somebody waits for a person, and what to type; `which` says for which team."""
    if asked:
        ref = asked[0].number or asked[0].id
        they = "them" if asked[1:] else "it"
        said = f"{count(len(asked), 'open question')}: swarm permissions{which} shows {they}"
        yield from io.rows(said, "yellow")
        yield from io.rows(f"swarm approve {ref}{which} says yes, swarm deny {ref}{which} says no")
