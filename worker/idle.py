"""Why an agent has nothing to do, worked out from the task table."""

from __future__ import annotations

from swarm.core.table import TaskTable
from swarm.core.task import Task
from swarm.values import Value

BUDGET_SPENT = "budget_spent"
FINISHED = "finished"
NO_TASK = "no_task"
WAITING_FOR_TASK = "waiting_for_task"


class IdleReason(Value):
    """`on` is the task that has to move first; there only when waiting for one."""

    reason: str
    on: str | None = None


def idle_reason(table: TaskTable, name: str, role: str | None, *, is_short: bool = False) -> IdleReason:
    """Return why this agent can claim nothing now; one that `is_short` of money leaves what it could claim.

    It waits as long as some task may still come to it: one that is blocked, or that somebody else is on and
    might give back. Tasks behind a failed or cancelled one come to nobody by themselves. Costs the same
    however many tasks there are: it is asked after any change of one.
    """
    counts = table.counts()
    if not counts["pending"] and not counts["in_progress"] and any(counts.values()):
        return IdleReason(reason=FINISHED)
    if is_short and table.lowest_claimable(name, role) is not None:
        return IdleReason(reason=BUDGET_SPENT)
    expected = table.lowest_expected(name, role)
    if expected is not None:
        return IdleReason(reason=WAITING_FOR_TASK, on=_holding_back(table, table.get(expected)))
    running = [int(task.id) for task in table.in_progress() if _may_come_back_to(task, name, role)]
    if running:
        return IdleReason(reason=WAITING_FOR_TASK, on=str(min(running)))
    return IdleReason(reason=NO_TASK)


def _may_come_back_to(task: Task, name: str, role: str | None) -> bool:
    return task.requires is None or task.requires.fits(name, role)


def _holding_back(table: TaskTable, task: Task) -> str:
    """Return the task that this one waits for, one that is being worked on if there is such."""
    blockers = table.open_blockers(task.id) or table.overlapping(task) or (task.id,)
    moving = (one for one in blockers if (found := table.find(one)) and found.status == "in_progress")
    return next(moving, blockers[0])
