"""Commits what one task changed, so that the log of the repository says who did what."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from swarm.core.task import Task
from swarm.core.untrusted import clean
from swarm.values import Value
from swarm.workspace.git import GitWorkspace, WorkspaceError
from worker.context.agent import AgentContext


class Work(Value):
    """What a task left in the workspace. `problem` says why it is not committed, where it should be."""

    files: tuple[str, ...]
    commit: str | None = None
    problem: str | None = None


def commit_work(
    task: Task,
    agent: AgentContext,
    workspace: str,
    environ: Mapping[str, str],
    touched: Iterable[str],
    summary: str,
) -> Work:
    """Commit the files that the session wrote and what changed under the task's globs; blocks while git runs.

    The caller holds the lock of the workspace. When git refuses, a hook perhaps, the files stay as they are.
    """
    files = _inside(workspace, touched)
    try:
        repository = GitWorkspace(workspace, environ)
        if not repository.is_repository():
            return Work(files=files)
        files = tuple(sorted({*files, *repository.changed_under(task.files)}))
        commit = repository.commit(
            files,
            subject=clean(task.subject),
            body=summary,
            trailers={"Task": f"{task.id} {task.key}" if task.key else task.id, "Agent": agent.agent_id},
            author_name=agent.name,
            team=agent.team,
        )
    except WorkspaceError as error:
        return Work(files=files, problem=f"the changes are not committed: {error}")
    return Work(files=files, commit=commit)


def _inside(workspace: str, touched: Iterable[str]) -> tuple[str, ...]:
    """Return the paths below the workspace, relative to it; what lies elsewhere is not ours to commit."""
    root = os.path.realpath(workspace)
    relative = (os.path.relpath(path, root) for path in touched)
    return tuple(sorted(path for path in relative if path.split(os.sep)[0] != os.pardir))
