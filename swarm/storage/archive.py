"""Putting a team away: its folder and its tasks become one folder under `teams/.archive`, readable as before.

Two renames. Whoever is killed between them leaves a task list without a team, whose archive waits for it.
"""

from __future__ import annotations

import os
import re

from swarm.core.identity import USER
from swarm.core.task import name_tasks
from swarm.core.times import format_time
from swarm.errors import StateError
from swarm.storage import syscalls
from swarm.storage.creation import teams_lock
from swarm.storage.deletion import refuse_foreign, refuse_living
from swarm.storage.layout import Layout, TeamLayout
from swarm.storage.listing import is_native, is_plain, no_such_team
from swarm.storage.roster import find_roster
from swarm.storage.team import Team

_DATE_CHARS = len("2026-11-30")
_ARCHIVED = re.compile(r"(?P<name>.+)-\d{4}-\d\d-\d\d(-\d+)?", re.ASCII)


def archive_dir(layout: Layout) -> str:
    """Return the folder of all archived teams; hidden, so that no client takes it for a team."""
    return f"{layout.teams_dir}/.archive"


def archive_team(team: Team, *, force: bool) -> str:
    """Put a team away and return its new folder; its name is free afterwards.

    Refused while an agent of it is alive, whatever `force` says. Without `force` also refused for a foreign
    team and while tasks are in progress. Goes on where a killed predecessor ended.
    """
    layout = Layout(root=team.root)
    if not is_plain(team.name):
        raise no_such_team(team.root, team.name)
    if syscalls.find_stat(team.layout.team_dir) is None:
        if waiting_archive(layout, team.name) and syscalls.find_stat(team.layout.tasks_dir):
            return archive_tasks(team)
        raise no_such_team(team.root, team.name)
    with teams_lock(layout, team.settings, team.clock):
        refuse_living(team)
        if not force:
            refuse_foreign(team.layout, "archives")
            refuse_running(team)
        place = _free_place(layout, team.name, format_time(team.clock.now())[:_DATE_CHARS])
        _record(team, place)
        team.close()
        syscalls.rename(team.layout.team_dir, place)
        _bring_tasks(team.layout, place)
    return place


def refuse_running(team: Team) -> None:
    """Refuse (in_progress) to touch a team that somebody works on, be it at a command line."""
    running = [task.id for task in team.tasks(USER).list_tasks() if task.status == "in_progress"]
    if running:
        one = len(running) == 1
        raise StateError(
            f"in team {team.name} {name_tasks(running)} {'is' if one else 'are'} in progress; "
            f"release {'it' if one else 'them'}, or give --force",
            code="in_progress",
            details={"in_progress": running},
        )


def waiting_archive(layout: Layout, name: str) -> str | None:
    """Return the archive that lacks the task list of this name, which its maker was killed before moving."""
    if syscalls.find_stat(layout.team(name).team_dir) is not None:
        return None
    found = sorted(entry for entry in syscalls.list_folder(archive_dir(layout)) if _name_of(entry) == name)
    places = [f"{archive_dir(layout)}/{entry}" for entry in found]
    return next((place for place in reversed(places) if not _has_tasks(place)), None)


def archive_tasks(team: Team) -> str:
    """Put away a task list without a team, into the archive that waits for it or one of its own."""
    layout = Layout(root=team.root)
    with teams_lock(layout, team.settings, team.clock):
        place = waiting_archive(layout, team.name)
        if place is None:
            place = _free_place(layout, team.name, format_time(team.clock.now())[:_DATE_CHARS])
            syscalls.make_folder(place)
        _bring_tasks(team.layout, place)
    return place


def _name_of(entry: str) -> str | None:
    match = _ARCHIVED.fullmatch(entry)
    return match["name"] if match else None


def _has_tasks(place: str) -> bool:
    return os.path.isdir(f"{place}/tasks") and not os.path.islink(f"{place}/tasks")


def _free_place(layout: Layout, name: str, date: str) -> str:
    syscalls.make_folders(archive_dir(layout))
    first = place = f"{archive_dir(layout)}/{name}-{date}"
    number = 1
    while syscalls.find_stat(place) is not None:
        number += 1
        place = f"{first}-{number}"
    return place


def _record(team: Team, place: str) -> None:
    roster = find_roster(team.layout.config)
    if roster is not None and is_native(team.name, roster):
        team.events.emit("team_archived", USER, path=place)


def _bring_tasks(team: TeamLayout, place: str) -> None:
    """Move the tasks to where the link to them was."""
    if syscalls.find_stat(team.tasks_dir) is None:
        return
    if os.path.islink(f"{place}/tasks"):
        syscalls.unlink(f"{place}/tasks")
    syscalls.rename(team.tasks_dir, f"{place}/tasks")
