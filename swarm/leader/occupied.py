"""Whether a name or a workspace is in use by another team."""

from __future__ import annotations

import os

from swarm.core.identity import LEADER, USER, same_name
from swarm.errors import StateError
from swarm.leader.progress import all_finished
from swarm.settings import Settings
from swarm.storage.clock import SystemClock
from swarm.storage.listing import TeamListing, list_teams
from swarm.storage.processes import liveness
from swarm.storage.team import open_team


def refuse_occupied(root: str, name: str, workspace: str, settings: Settings) -> None:
    """Refuse a name that exists, and a workspace in which another run is going on now."""
    for listing in list_teams(root):
        if same_name(listing.name, name):
            raise StateError(
                f"team {listing.name} {_stands(listing, root, settings)}; give this run another name with "
                "--name",
                code="name_taken",
                details={"value": name, "taken": listing.name},
            )
    refuse_busy_workspace(root, workspace, settings)


def _stands(listing: TeamListing, root: str, settings: Settings) -> str:
    """Return how a team stands whose name is wanted for another, and what could be done with it."""
    if _is_led(listing, root, settings):
        return "is running now"
    archive = f"swarm team archive {listing.name} puts it away"
    if not listing.native:
        return "exists"
    team = open_team(root, listing.name, settings, SystemClock())
    try:
        is_over = all_finished(team.tasks(USER).table())
        has_run = os.path.exists(team.layout.team_file)
    finally:
        team.close()
    if has_run and not is_over:
        return f"exists; swarm resume {listing.name} takes up its run"
    return f"exists, and {'its run is over' if has_run else 'has no run'}; {archive}"


def refuse_busy_workspace(
    root: str, workspace: str, settings: Settings, *, besides: str | None = None
) -> None:
    """Refuse a workspace in which another team than `besides` runs now.

    Two runs in one folder would verify and commit each other's unfinished work. A run that starts in the
    same moment is not seen; each task's check and commit then still take turns.
    """
    for listing in list_teams(root):
        if listing.name != besides and _runs_in(listing, root, workspace, settings):
            raise StateError(
                f"team {listing.name} is running in {workspace} now; wait for it or use another workspace",
                code="leader_alive",
                details={"team": listing.name, "workspace": workspace},
            )


def _runs_in(listing: TeamListing, root: str, workspace: str, settings: Settings) -> bool:
    if not listing.native or listing.roster is None or listing.roster.workspace is None:
        return False
    if os.path.realpath(listing.roster.workspace) != workspace:
        return False
    return _is_led(listing, root, settings)


def _is_led(listing: TeamListing, root: str, settings: Settings) -> bool:
    if not listing.native or listing.roster is None:
        return False
    team = open_team(root, listing.name, settings, SystemClock())
    record = team.agents.load(LEADER)
    team.close()
    return record is not None and record.state != "stopped" and liveness(record) == "alive"
