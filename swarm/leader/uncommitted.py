"""What a run left in its repository beside its commits, and which of these are gone again."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable

from swarm.storage.team import Team
from swarm.teamfile.schema import SCHEMA_FILE_NAME
from swarm.workspace.git import GitWorkspace, WorkspaceError

_SHOWN = 3


def loose_files(team: Team) -> tuple[str, ...]:
    """Return the changed files of the workspace that nobody has committed; the person's own are no work.

    Empty where there is no repository, or git does not work in it.
    """
    workspace = team.roster.load().workspace or "."
    own = {os.path.realpath(path) for path in own_files(team)}
    try:
        repository = GitWorkspace(workspace)
        dirty = repository.dirty_paths() if repository.is_repository() else ()
    except WorkspaceError:
        return ()
    return tuple(path for path in dirty if os.path.realpath(os.path.join(workspace, path)) not in own)


def own_files(team: Team) -> tuple[str, ...]:
    """Return the team file that the run was begun with, and the schema beside it."""
    for _, event in team.events.read():
        if event.event == "run_started" and isinstance(file := event.data.get("file"), str):
            return file, os.path.join(os.path.dirname(file), SCHEMA_FILE_NAME)
    return ()


def undone_commits(team: Team, commits: Iterable[str]) -> frozenset[str]:
    """Return those that are not in the history of what is checked out now."""
    found = frozenset(commits)
    if not found:
        return found
    try:
        repository = GitWorkspace(team.roster.load().workspace or ".")
        return repository.not_in_head(found) if repository.is_repository() else frozenset()
    except WorkspaceError:
        return frozenset()


def describe_loose(paths: Collection[str]) -> str:
    """Return in one line which changes are not committed."""
    more = f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else ""
    number = "1 change is" if len(paths) == 1 else f"{len(paths)} changes are"
    return f"{number} not committed: {', '.join([*paths][:_SHOWN])}{more}"
