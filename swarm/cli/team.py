"""`swarm team create|list|show`: which teams there are."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from swarm.cli.board import Board
from swarm.cli.columns import table
from swarm.cli.render import count, paint, printable
from swarm.cli.session import Io, the_team
from swarm.core.identity import LEADER, USER
from swarm.core.roster import Member, Roster
from swarm.errors import ConfigError, SwarmError
from swarm.storage.layout import Layout
from swarm.storage.leadership import is_resumable, leader_state
from swarm.storage.team import Team, TeamListing, create_team, list_teams

_VALUE_CELLS = 13


def create(args: Mapping[str, Any], io: Io) -> int:
    """Make an empty team whose workspace is a folder that exists."""
    workspace = _workspace(args["workspace"])
    team = create_team(
        io.root,
        args["name"],
        description=args["description"] or "",
        workspace=workspace,
        settings=io.settings,
        clock=io.clock,
    )
    if io.json:
        io.print_json(team_object(team, team.roster.load()))
    else:
        io.print(f"team {team.name} is made, in {printable(team.layout.team_dir)}")
    return 0


def list_all(_args: Mapping[str, Any], io: Io) -> int:
    """List the teams, also those of another client, with their names alone."""
    listings = list_teams(io.root)
    if io.json:
        io.print_json({"teams": [listed(listing, io) for listing in listings]})
        return 0
    if not listings:
        io.note("no teams yet; make one with swarm team create, or watch swarm demo")
        return 0
    teams = [listed(listing, io) for listing in listings]
    for line in table(list(map(_row, teams)), limit=io.columns, flexible=-1):
        io.print(line)
    if left := _resumable(teams):
        io.note(f"swarm resume {left[0]} takes up its run again")
    return 0


def resumable_teams(io: Io) -> list[str]:
    """Return the teams whose run could be taken up."""
    return _resumable([listed(listing, io) for listing in list_teams(io.root)])


def _resumable(teams: Iterable[Mapping[str, Any]]) -> list[str]:
    return [team["name"] for team in teams if team.get("resumable")]


def show(args: Mapping[str, Any], io: Io) -> int:
    """Show one team."""
    team = the_team(args if args["name"] is None else {**args, "team": args["name"]}, io)
    roster = team.roster.load()
    if io.json:
        io.print_json(team_object(team, roster))
        return 0
    for line in _page(team, roster, io):
        io.print(line)
    return 0


def _workspace(given: str | None) -> str:
    path = os.path.abspath(os.path.expanduser(given or os.getcwd()))
    if not os.path.isdir(path):
        raise ConfigError(
            f"the workspace {path} is no folder; make it first", code="bad_value", details={"value": path}
        )
    return path


def team_object(team: Team, roster: Roster) -> dict[str, Any]:
    """Return a team as `team show --json` has it."""
    board, leader = Board(team.tasks(USER).list_tasks()), leader_state(team)
    unfinished = any(not shown.task.finished for shown in board.tasks)
    return {
        "name": team.name,
        "native": True,
        "workspace": roster.workspace,
        "leader": leader,
        "resumable": is_resumable(team, leader, unfinished=unfinished),
        "agents": sum(member.name != LEADER for member in roster.members),
        "members": [{"name": one.name, "kind": _kind(one)} for one in roster.members],
        "tasks": board.counts(),
    }


def _kind(member: Member) -> str:
    return "leader" if member.name == LEADER else "teammate"


def listed(listing: TeamListing, io: Io) -> dict[str, Any]:
    """Return a team as `team list --json` has it; of a foreign or damaged one little is known."""
    if listing.problem:
        return {"name": listing.name, "native": False, "problem": listing.problem}
    if not listing.native or listing.roster is None:
        return {"name": listing.name, "native": False}
    team = Team(Layout(root=io.root).team(listing.name), io.settings, io.clock)
    try:
        return team_object(team, listing.roster)
    except SwarmError as error:  # one damaged team must not hide the others
        return {"name": listing.name, "native": True, "problem": error.message}


def _row(found: Mapping[str, Any]) -> tuple[str, ...]:
    if "problem" in found:
        return (found["name"], "damaged", "", "", found["problem"])
    if not found["native"]:
        return (found["name"], "made by another program", "", "", "")
    done, total = found["tasks"]["completed"], _total(found["tasks"])
    leader = "no leader" if found["leader"] == "none" else f"leader {found['leader']}"
    return (
        found["name"],
        f"{done}/{total} tasks done",
        count(found["agents"], "agent"),
        f"{leader}, can be resumed" if found["resumable"] else leader,
        found["workspace"] or "",
    )


def _total(counts: Mapping[str, int]) -> int:
    return sum(counts[key] for key in ("pending", "in_progress", "completed", "failed", "cancelled"))


def _page(team: Team, roster: Roster, io: Io) -> Iterator[str]:
    found = team_object(team, roster)
    yield paint(printable(team.name), "bold", enabled=io.color)
    facts = {
        "description": roster.description or "",
        "folder": team.layout.team_dir,
        "workspace": roster.workspace or "",
        "leader": found["leader"],
        "run": f"can be resumed: swarm resume {team.name}" if found["resumable"] else "",
        "tasks": f"{found['tasks']['completed']} of {_total(found['tasks'])} completed",
    }
    for line in table([(f"  {label}", value) for label, value in facts.items() if value]):
        yield from io.rows(line, indent=_VALUE_CELLS)
    members = [
        (f"  {m.name}", _kind(m), m.role or "", m.model or "", m.permission_mode or "")
        for m in roster.members
    ]
    if members:
        yield ""
        yield from table(members, limit=io.columns, flexible=1)
