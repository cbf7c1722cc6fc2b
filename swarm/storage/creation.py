"""Making a team: both of its folders are built out of sight, then renamed; all of it or nothing."""

from __future__ import annotations

import os

from swarm.core.event import Event, render_event_line
from swarm.core.identity import LEADER, USER, agent_id, check_name, same_name
from swarm.core.ports import Clock
from swarm.core.roster import SCHEMA, Member, Roster, render_roster
from swarm.core.times import format_time
from swarm.errors import StateError, StorageIOError
from swarm.settings import Settings
from swarm.storage import files, processes, syscalls
from swarm.storage.layout import Layout, TeamLayout
from swarm.storage.lock import FileLock

STAGED = ".new"
DOOMED = ".gone"


def new_roster(
    name: str, description: str, workspace: str, isolation: str, now: float, session_id: str | None
) -> Roster:
    check_name(name, "team")
    joined = round(now * 1000)
    leader = Member(
        agent_id=agent_id(LEADER, name),
        name=LEADER,
        agent_type=LEADER,
        joined_at=joined,
        tmux_pane_id="leader",
        cwd=workspace,
        backend_type="in-process",
    )
    return Roster(
        name=name,
        description=description,
        created_at=joined,
        lead_agent_id=leader.agent_id,
        lead_session_id=session_id or processes.new_msg_id(),
        members=(leader,),
        schema=SCHEMA,
        native=True,
        workspace=workspace,
        isolation=isolation,
    )


def build(
    layout: Layout, roster: Roster, settings: Settings, clock: Clock, team_file: bytes | None = None
) -> TeamLayout:
    """Make the folders of this team and return where they are; `name_taken` when that cannot be."""
    team = layout.team(roster.name)
    with teams_lock(layout, settings, clock):
        _refuse_taken(layout, team)
        staged = layout.team(f".{roster.name}.{os.getpid()}{STAGED}")
        try:
            _fill(staged, roster, format_time(clock.now()), sync=settings.durability != "none")
            if team_file is not None:
                files.write_bytes(staged.team_file, team_file)
            syscalls.rename(staged.tasks_dir, team.tasks_dir)
            syscalls.rename(staged.team_dir, team.team_dir)
        except StorageIOError:
            _undo(staged, team)
            raise
        if settings.durability != "none":
            files.sync_file(layout.teams_dir)
            files.sync_file(layout.tasks_root)
    return team


def teams_lock(layout: Layout, settings: Settings, clock: Clock) -> FileLock:
    """Return the lock under which teams come and go."""
    for folder in (layout.tasks_root, os.path.dirname(layout.creation_lock)):
        syscalls.make_folders(folder)
    return FileLock(layout.creation_lock, settings, clock, "teams")


def _refuse_taken(layout: Layout, team: TeamLayout) -> None:
    """Also sweeps up what killed predecessors left: hidden folders, and a task list that nobody used yet."""
    for parent in (layout.teams_dir, layout.tasks_root):
        for entry in syscalls.list_folder(parent):
            if entry.startswith(".") and entry.endswith((STAGED, DOOMED)):
                remove_tree(f"{parent}/{entry}")
    if syscalls.find_stat(team.team_dir) is None and is_unused(team):
        remove_tree(team.tasks_dir)
    for parent, what in ((layout.teams_dir, "team"), (layout.tasks_root, "task list")):
        taken = next((entry for entry in syscalls.list_folder(parent) if same_name(entry, team.team)), None)
        if taken is not None:
            raise StateError(
                f"there is a {what} {taken} already in {parent}; choose another name or delete it",
                code="name_taken",
                details={"value": team.team, "taken": taken},
            )


def is_unused(team: TeamLayout) -> bool:
    """Tell whether a task list was made and nothing more."""
    journal = syscalls.find_stat(team.journal)
    only_journal = syscalls.list_folder(team.tasks_dir) == [os.path.basename(team.journal)]
    return only_journal and journal is not None and journal.st_size == 0


def _fill(staged: TeamLayout, roster: Roster, at: str, *, sync: bool) -> None:
    for folder in (
        staged.tasks_dir,
        staged.team_dir,
        staged.agents_dir,
        staged.inboxes_dir,
        staged.history_dir,
        staged.permissions_dir,
        staged.pending_dir,
        staged.resolved_dir,
        staged.transcripts_dir,
        staged.logs_dir,
        staged.locks_dir,
        staged.spawn_dir,
    ):
        syscalls.make_folder(folder)
    files.write_draft(staged.journal, b"", sync=sync)
    files.write_json(staged.config, render_roster(roster))
    created = Event(time=at, event="team_created", agent=USER, data={"workspace": roster.workspace})
    files.append_line(staged.events, render_event_line(created))
    syscalls.symlink(f"../../tasks/{roster.name}", staged.tasks_link)


def _undo(staged: TeamLayout, team: TeamLayout) -> None:
    """Take back what was built; what cannot be removed now is swept up by the next creation."""
    try:
        if syscalls.find_stat(team.team_dir) is None and is_unused(team):
            remove_tree(team.tasks_dir)
        remove_tree(staged.team_dir)
        remove_tree(staged.tasks_dir)
    except StorageIOError:
        return


def remove_tree(path: str) -> None:
    """Remove a folder and all in it; links are removed, not followed. A missing one is no error.

    What cannot go yet stays: on a network mount a file that somebody has open keeps a hidden name.
    """
    for entry in syscalls.list_folder(path):
        below = f"{path}/{entry}"
        if os.path.isdir(below) and not os.path.islink(below):
            remove_tree(below)
        else:
            syscalls.unlink(below)
    if syscalls.find_stat(path) is not None:
        syscalls.remove_empty_folder(path)
