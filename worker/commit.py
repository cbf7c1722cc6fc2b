"""Commits what one task changed, so that the log of the repository says who did what."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from swarm.core.task import Task
from swarm.core.untrusted import clean
from swarm.values import Value
from swarm.workspace.git import Bounds, GitWorkspace, WorkspaceError
from worker.context.agent import AgentContext


class Work(Value):
    """What a task left in the workspace; no commit where there is no repository, or nothing was changed."""

    files: tuple[str, ...]
    commit: str | None = None


class CommitRefusal(Value):
    """Git or one of its hooks did not take the work. `output` is the end of what they printed."""

    why: str
    output: str

    def __str__(self) -> str:
        return f"the commit was refused: {self.why}"


class Ground(Value):
    """Where the work lies and how git is run there: in `environ`, within `bounds`.

    `expected` tells that there was a repository before, so that none is a fault.
    """

    workspace: str
    environ: Mapping[str, str]
    bounds: Bounds
    expected: bool


def commit_work(
    ground: Ground, task: Task, agent: AgentContext, touched: Iterable[str], summary: str
) -> Work | CommitRefusal:
    """Commit the files that the session wrote and what changed under the task's globs; blocks while git runs.

    The caller holds the lock of the workspace. When git refuses, the files stay as they are. A stop ends it:
    then GitStoppedError tells that nothing was committed, or it was and that is returned.
    """
    files = _inside(ground.workspace, touched)
    repository = GitWorkspace(ground.workspace, ground.environ, ground.bounds)
    try:
        if not repository.must_commit(expected=ground.expected):
            return Work(files=files)
        files = tuple(sorted({*files, *repository.changed_under(task.files)}))
        of_task = {"Task": f"{task.id} {task.key}" if task.key else task.id}
        commit = repository.commit(
            files,
            subject=clean(task.subject),
            body=summary,
            trailers={**of_task, "Agent": agent.agent_id},
            author_name=agent.name,
            team=agent.team,
        )
        if commit is None and (task.crashes or task.reason):  # who had it before may have got so far
            commit = repository.find_made(agent.team, of_task)
    except WorkspaceError as error:
        return CommitRefusal(why=error.git_said, output=error.output)
    return Work(files=files, commit=commit)


def _inside(workspace: str, touched: Iterable[str]) -> tuple[str, ...]:
    """Return the paths below the workspace, relative to it; what lies elsewhere is not ours to commit."""
    root = os.path.realpath(workspace)
    relative = (os.path.relpath(path, root) for path in touched)
    return tuple(sorted(path for path in relative if path.split(os.sep)[0] != os.pardir))
