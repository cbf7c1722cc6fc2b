"""Tasks for an agent that is not there: given back, they are shown as nobody's, and the leader is told.

Who alone may claim one stays as it was: that is for people and the leader to change.
"""

from __future__ import annotations

from contextlib import suppress

from swarm.core.identity import LEADER, RUNTIME
from swarm.core.task import Task
from swarm.errors import CorruptStateError, SwarmError
from swarm.storage import processes
from swarm.storage.mail import send
from swarm.storage.team import Team


def release(team: Team, by: str, task_id: str, token: str, reason: str) -> Task:
    """Give a task back, to the agent that it is meant for if that is there."""
    missing = _missing(team, team.tasks(by).get_task(task_id))
    task = team.tasks(by).release(task_id, token, reason, to_nobody=missing is not None)
    return _told(team, task, missing)


def retry(team: Team, by: str, task_id: str) -> Task:
    """Make a failed or cancelled task pending again, as after a release."""
    before = team.tasks(by).get_task(task_id)
    missing = _missing(team, before)
    task = team.tasks(by).retry(task_id, to_nobody=missing is not None)
    return _told(team, task, missing if before.finished else None)


def tell_if_missing(team: Team, task: Task, *, dead: str | None = None) -> None:
    """Tell the leader if a task that was taken from a life is meant for an agent that is not there.

    `dead` is an agent that the caller has proved to be.
    """
    if task.status == "pending":
        wanted = task.requires.agent if task.requires else None
        _told(team, task, f"{dead} died" if wanted == dead and dead else _missing(team, task))


def _missing(team: Team, task: Task) -> str | None:
    """Return how the agent that a task is meant for has gone; None if it is there, or was never started."""
    name = task.requires.agent if task.requires else None
    if name is None:
        return None
    try:
        record = team.agents.load(name)
    except CorruptStateError:
        return None
    if record is None:
        return None
    if record.state == "stopped":
        return f"{name} has stopped"
    return f"{name} died" if processes.liveness(record) == "dead" else None


def _told(team: Team, task: Task, missing: str | None) -> Task:
    if missing is not None and task.requires is not None:
        text = (
            f"Task {task.id} ({task.subject}) was given back and is for {task.requires.agent} alone, but "
            f"{missing}. It waits until {task.requires.agent} is started again; or give it to another with: "
            f"swarm task edit {task.id} --owner NAME"
        )
        with suppress(SwarmError):  # the task files and events say the same
            send(team, RUNTIME, LEADER, text, summary=f"task {task.id} has nobody to do it")
    return task
