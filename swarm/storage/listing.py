"""Which teams there are under a root: ours, and those of other clients."""

from __future__ import annotations

import os
from collections.abc import Mapping

from swarm.core.identity import other_spelling
from swarm.core.nearest import some_of
from swarm.core.roster import Roster
from swarm.errors import ConfigError, LostStateError, NotFoundError, StateError, SwarmError
from swarm.storage import syscalls
from swarm.storage.layout import Layout, TeamLayout
from swarm.storage.roster import find_roster
from swarm.values import Value

_FOREIGN_PREFIX = "session-"


class TeamListing(Value):
    """One team's folder. `native`: made by us, all members ours; `problem`: why it cannot be read."""

    name: str
    native: bool
    roster: Roster | None = None
    problem: str | None = None


def list_teams(root: str) -> tuple[TeamListing, ...]:
    """Return every team under a root by name, foreign ones too; hidden folders are no teams."""
    layout = Layout(root=root)
    names = sorted(name for name in syscalls.list_folder(layout.teams_dir) if is_plain(name))
    listed = (_listing(layout.team(name)) for name in names)
    return tuple(listing for listing in listed if listing is not None)


def _listing(team: TeamLayout) -> TeamListing | None:
    try:
        roster = find_roster(team.config)
    except StateError as error:
        if isinstance(error.__cause__, NotADirectoryError):  # a file of somebody's beside the teams
            return None
        return TeamListing(name=team.team, native=False, problem=str(error))
    if roster is None:
        if not is_ours_by_its_folders(team):
            return None
        return TeamListing(name=team.team, native=False, problem=str(_without_roster(team)))
    return TeamListing(name=team.team, native=is_native(team.team, roster), roster=roster)


def _without_roster(team: TeamLayout) -> LostStateError:
    advice = "swarm doctor --fix makes it anew from the agents' records"
    return LostStateError(f"the roster of team {team.team}", team.config, advice)


def is_native(name: str, roster: Roster) -> bool:
    """Tell whether a team is ours alone; a name that another client gives its own teams never is."""
    return roster.is_ours and roster.native is not False and not name.startswith(_FOREIGN_PREFIX)


def is_ours_by_its_folders(team: TeamLayout) -> bool:
    """Tell whether swarm made a team, where no roster says so: no other client has locks like ours."""
    return os.path.isdir(team.locks_dir)


def is_plain(name: str) -> bool:
    """Tell whether a name is one visible folder, so that it may become part of a path."""
    return bool(name) and name[0] != "." and "/" not in name and "\0" not in name


def no_such_team(root: str, name: str) -> SwarmError:
    """Return the error for a team that there is not, or whose roster is gone while the rest is there."""
    team = Layout(root=root).team(name)
    if is_plain(name) and is_ours_by_its_folders(team):
        return _without_roster(team)
    valid, known = _ours(root, name)
    details = {"value": name, "valid": valid}
    spelling = other_spelling(name, valid)
    if spelling is not None:
        known, details = f"there is {spelling}: write it like that", {**details, "suggestion": spelling}
    return NotFoundError(f"no team {name!r}; {known}", code="no_such_team", details=details)


def default_team(root: str, environ: Mapping[str, str]) -> str:
    """Return `$SWARM_TEAM`, else the only team of ours; `team_needed` when there is none or a choice."""
    given = environ.get("SWARM_TEAM")
    if given:
        return given
    valid, known = _ours(root)
    if len(valid) == 1:
        return valid[0]
    raise ConfigError(f"which team? give -t TEAM; {known}", code="team_needed", details={"valid": valid})


def _ours(root: str, near: str = "") -> tuple[list[str], str]:
    """Return the names of our teams, and a clause that tells some, first those that are like `near`."""
    listed = list_teams(root)
    valid = [listing.name for listing in listed if listing.native]
    if valid:
        return valid, f"there are {some_of(valid, near)}"
    broken = next((listing.problem for listing in listed if listing.problem), None)
    return valid, broken or "there is none yet (swarm team create NAME)"
