"""A team whose `config.json` is gone or damaged: found between the teams, and made anew from what is left."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from functools import partial

from swarm.core.identity import LEADER, agent_id, is_name, same_name
from swarm.core.ports import Clock
from swarm.core.roster import Member, Roster, render_roster
from swarm.errors import CorruptStateError, SwarmError
from swarm.settings import Settings
from swarm.storage import files, syscalls
from swarm.storage.creation import new_roster
from swarm.storage.finding import Finding, set_aside
from swarm.storage.layout import Layout
from swarm.storage.listing import is_ours_by_its_folders, list_teams
from swarm.storage.lock import FileLock
from swarm.storage.roster import find_roster
from swarm.storage.team import Team

_SUFFIX = ".json"
_REMEDY = "it is made anew from the records of its agents, their mail and the event log"


def examine_rosters(layout: Layout, settings: Settings, clock: Clock) -> Iterator[Finding]:
    """Find the rosters of teams of ours that cannot be read."""
    for listing in list_teams(layout.root):
        team = Team(layout.team(listing.name), settings, clock)
        if listing.problem is None or not is_ours_by_its_folders(team.layout):
            continue
        path, mend = team.layout.config, partial(_renew, team)
        if syscalls.find_stat(path) is None:
            yield Finding(kind="missing_roster", path=path, what=listing.problem, remedy=_REMEDY, mend=mend)
        else:
            aside = f"it is set aside; {_REMEDY}"
            yield Finding(kind="damaged_roster", path=path, what=listing.problem, remedy=aside, mend=mend)


def _renew(team: Team) -> None:
    config = team.layout.config
    with FileLock(team.layout.lock("roster"), team.settings, team.clock, f"doctor@{team.name}"):
        try:
            if find_roster(config) is not None:
                return
        except SwarmError:
            set_aside(team, config)
        files.write_json(config, render_roster(_as_far_as_known(team)))


def _as_far_as_known(team: Team) -> Roster:
    """Return a roster with everybody who has a record or an inbox; what else it said is lost."""
    workspace = _workspace(team)
    roster = new_roster(team.name, "", workspace, "shared", team.clock.now(), None)
    leader = roster.member(LEADER).replace(permission_mode=_mode_of_run(team))
    roster = roster.with_member(leader)
    for name, backend in _names(team).items():
        member = Member(
            agent_id=agent_id(name, team.name),
            name=name,
            joined_at=roster.created_at,
            cwd=workspace,
            backend_type=backend,
        )
        roster = roster.with_member(member)
    return roster


def _names(team: Team) -> dict[str, str | None]:
    """Return who has a record or an inbox, with the backend of the record if that can be read."""
    found: dict[str, str | None] = {}
    for folder in (team.layout.agents_dir, team.layout.inboxes_dir):
        entries = (entry for entry in syscalls.list_folder(folder) if entry.endswith(_SUFFIX))
        for name in sorted(entry.removesuffix(_SUFFIX) for entry in entries):
            if is_name(name) and not any(same_name(name, other) for other in found):
                found[name] = _backend(team, name)
    return found


def _backend(team: Team, name: str) -> str | None:
    with suppress(CorruptStateError):
        record = team.agents.load(name)
        return record.backend if record is not None else None
    return None


def _mode_of_run(team: Team) -> str | None:
    """Return the mode that the team was led in last: nobody is to have a looser one."""
    told = [event.data.get("mode") for _, event in team.events.read() if event.event == "run_started"]
    return told[-1] if told and isinstance(told[-1], str) else None


def _workspace(team: Team) -> str:
    told = (event.data.get("workspace") for _, event in team.events.read() if event.event == "team_created")
    return next((place for place in told if isinstance(place, str)), os.getcwd())
