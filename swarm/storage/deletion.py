"""Deleting a team: refused while that would hurt somebody, then both folders at once."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from swarm.core.identity import LEADER, USER
from swarm.core.task import FINISHED, name_tasks
from swarm.errors import StateError, StorageIOError
from swarm.storage import processes, syscalls
from swarm.storage.creation import DOOMED, remove_tree, teams_lock
from swarm.storage.layout import Layout, TeamLayout
from swarm.storage.listing import is_native, is_plain, no_such_team
from swarm.storage.lock import FileLock
from swarm.storage.roster import find_roster

if TYPE_CHECKING:
    from swarm.storage.team import Team


def delete(team: Team, *, force: bool) -> None:
    """Delete a team if nothing speaks against it; `force` overrules all but a living agent."""
    if not (is_plain(team.name) and _exists(team.layout, force=force)):
        raise no_such_team(team.root, team.name)
    layout = Layout(root=team.root)
    try:
        _delete(layout, team, force=force)
    except StorageIOError as error:
        raise _named(error, layout, team.layout) from error


def _delete(layout: Layout, team: Team, *, force: bool) -> None:
    with teams_lock(layout, team.settings, team.clock):
        refuse_living(team)
        if not force:
            refuse_foreign(team.layout)
            _refuse_losing(team)
        with _undisturbed(team):
            doomed = _hide(layout, team.layout)
        # Not before the lock in there is given back: on a network mount an open file keeps its folder.
        for folder in doomed:
            remove_tree(folder)


@contextmanager
def _undisturbed(team: Team) -> Iterator[None]:
    """Wait for whoever is writing a task: a late file would turn up in the next team of this name."""
    lock_file = team.layout.lock("tasks")
    if syscalls.find_stat(os.path.dirname(lock_file)) is None:
        yield
        return
    with FileLock(lock_file, team.settings, team.clock, f"{USER}@{team.name}"):
        yield


def _exists(team: TeamLayout, *, force: bool) -> bool:
    """Tell whether there is something to delete; a task list without a team only goes by force."""
    return syscalls.find_stat(team.team_dir) is not None or (
        force and syscalls.find_stat(team.tasks_dir) is not None
    )


def refuse_living(team: Team) -> None:
    """Refuse to take the files of an agent that is alive."""
    for record in team.agents.list_agents():
        if record.state != "stopped" and processes.liveness(record) == "alive":
            leads = record.name == LEADER
            way = "end its run first, by Ctrl-C where it runs"
            way = way if leads else f"stop it first: swarm stop {record.name} -t {team.name}"
            raise StateError(
                f"{record.name} of team {team.name} is still running (pid {record.pid}); {way}",
                code="leader_alive" if leads else "agent_alive",
                details={"agent": record.name, "pid": record.pid},
            )


def refuse_foreign(team: TeamLayout, deed: str = "deletes") -> None:
    """Refuse a team of another client; `deed` is what `--force` would do with it."""
    roster = find_roster(team.config)
    if roster is None or not is_native(team.team, roster):
        raise StateError(
            f"team {team.team} was not made by swarm; --force {deed} it all the same",
            code="mixed_team",
            details={"value": team.team},
        )


def _refuse_losing(team: Team) -> None:
    tasks = team.tasks(USER).list_tasks()
    team.close()
    running = [task.id for task in tasks if task.status == "in_progress"]
    finished = [task.id for task in tasks if task.status in FINISHED]
    if running or finished:
        what = (
            f"{name_tasks(running)} {'is' if len(running) == 1 else 'are'} in progress"
            if running
            else f"{name_tasks(finished)} {'has' if len(finished) == 1 else 'have'} results"
        )
        raise StateError(
            f"in team {team.name} {what}, which would be lost; --force deletes it all the same",
            code="in_progress" if running else "finished",
            details={"in_progress": running, "finished": finished},
        )


def _hide(layout: Layout, team: TeamLayout) -> tuple[str, str]:
    """Hide both folders before they are removed, the team's first: no process finds half a team.

    When that fails for one of them both are where they were.
    """
    doomed = _doomed(layout, team)
    if syscalls.find_stat(team.team_dir) is not None:
        syscalls.rename(team.team_dir, doomed.team_dir)
    if syscalls.find_stat(team.tasks_dir) is not None:
        try:
            syscalls.rename(team.tasks_dir, doomed.tasks_dir)
        except StorageIOError:
            if syscalls.find_stat(doomed.team_dir) is not None:
                syscalls.rename(doomed.team_dir, team.team_dir)
            raise
    return doomed.team_dir, doomed.tasks_dir


def _doomed(layout: Layout, team: TeamLayout) -> TeamLayout:
    return layout.team(f".{team.team}.{os.getpid()}{DOOMED}")


def _named(error: StorageIOError, layout: Layout, team: TeamLayout) -> StateError:
    """Return the failure with the folder that a person knows, where a hidden one was not to be had."""
    doomed, path = _doomed(layout, team), str(error.details["path"])
    if path.startswith(os.path.dirname(layout.creation_lock)):
        meant = layout.teams_dir
    else:
        meant = path.replace(doomed.team_dir, team.team_dir).replace(doomed.tasks_dir, team.tasks_dir)
    return StateError(
        f"team {team.team} cannot be deleted: {meant}{error.message.removeprefix(path)}",
        code=error.code,
        details={**error.details, "path": meant},
    )
