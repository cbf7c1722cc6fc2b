"""Why an agent has nothing to do, worked out from the task table."""

from __future__ import annotations

from swarm.core.table import TaskTable
from swarm.core.task import Task
from swarm.values import Value

FINISHED = "finished"
NO_TASK = "no_task"
WAITING_FOR_TASK = "waiting_for_task"


class IdleReason(Value):
    """`on` is the task that has to move first; there only when waiting for one."""

    reason: str
    on: str | None = None


def idle_reason(table: TaskTable, name: str, role: str | None) -> IdleReason:
    """Return why this agent can claim nothing now.

    It waits as long as some task may still come to it: one that is blocked, or that somebody else is on and
    might give back. Tasks behind a failed or cancelled one come to nobody by themselves.
    """
    tasks = table.tasks()
    if tasks and all(task.finished for task in tasks):
        return IdleReason(reason=FINISHED)
    doomed = _doomed(table, tasks)
    fitting = [task for task in tasks if _may_come_to(task, name, role) and task.id not in doomed]
    pending = [task for task in fitting if task.status == "pending"]
    if pending:
        return IdleReason(reason=WAITING_FOR_TASK, on=_holding_back(table, pending[0]))
    if fitting:
        return IdleReason(reason=WAITING_FOR_TASK, on=fitting[0].id)
    return IdleReason(reason=NO_TASK)


def _may_come_to(task: Task, name: str, role: str | None) -> bool:
    if task.finished or not (task.requires is None or task.requires.fits(name, role)):
        return False
    return task.status == "in_progress" or task.owner in (None, name, role)


def _holding_back(table: TaskTable, task: Task) -> str:
    """Return the task that this one waits for, one that is being worked on if there is such."""
    blockers = table.open_blockers(task.id) or table.overlapping(task) or (task.id,)
    moving = (one for one in blockers if (found := table.find(one)) and found.status == "in_progress")
    return next(moving, blockers[0])


def _doomed(table: TaskTable, tasks: tuple[Task, ...]) -> set[str]:
    """Return the tasks that wait, through however many others, for one that has failed or was cancelled."""
    waiting = [task for task in tasks if task.status in ("failed", "cancelled")]
    doomed: set[str] = set()
    while waiting:
        for dependent in waiting.pop().blocks:
            task = table.find(dependent)
            if task is not None and dependent not in doomed and task.status == "pending":
                doomed.add(dependent)
                waiting.append(task)
    return doomed
