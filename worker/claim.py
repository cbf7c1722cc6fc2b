"""The claim on the task in hand, and the ways in which it ends. Each of them presents the token."""

from __future__ import annotations

from collections.abc import Callable

from swarm.core.task import Task, TaskResult
from swarm.errors import NotFoundError, TaskError
from swarm.storage.tasks import TaskStore
from swarm.values import Value

COMPLETED = "completed"
FAILED = "failed"
RELEASED = "released"


class Outcome(Value):
    """What became of the task in one session; `unblocked` are the tasks that can start because of it."""

    task_id: str
    status: str
    summary: str | None = None
    reason: str | None = None
    unblocked: tuple[str, ...] = ()


class ClaimLostError(Exception):
    """The task is no longer ours: somebody cancelled, deleted or freed it. Nothing of it may be written."""


class HeldClaim:
    """One claim. After one of the four ends it is used up."""

    def __init__(self, store: TaskStore, task: Task) -> None:
        if task.claim is None:
            raise ValueError(f"task {task.id} is not claimed")
        self._store = store
        self.task = task
        self.token = task.claim.token

    def check(self) -> None:
        """Raise `ClaimLostError` if the claim is gone. Cheap: reads what is new in the journal."""
        task = self._store.table().find(self.task.id)
        if task is None or task.status != "in_progress" or task.claim is None:
            raise ClaimLostError(f"task {self.task.id} is {task.status if task else 'deleted'} now")
        if task.claim.token != self.token:
            raise ClaimLostError(f"task {self.task.id} was claimed by {task.claim.agent} meanwhile")

    def complete(self, result: TaskResult) -> Outcome:
        task = self._end(lambda: self._store.complete(self.task.id, self.token, result))
        return Outcome(
            task_id=task.id, status=COMPLETED, summary=result.summary, unblocked=self._now_ready(task)
        )

    def fail(self, reason: str) -> Outcome:
        """End the task for good: the agent says that it cannot be done."""
        task = self._end(lambda: self._store.fail(self.task.id, self.token, reason))
        return Outcome(task_id=task.id, status=FAILED, reason=task.reason)

    def end_attempt(self, reason: str, *, final: bool = False) -> Outcome:
        """Give the task back with one more failed attempt; after the last or `final` one it has failed."""
        task = self._end(lambda: self._store.end_attempt(self.task.id, self.token, reason, final=final))
        status = FAILED if task.status == FAILED else RELEASED
        return Outcome(task_id=task.id, status=status, reason=task.reason or reason)

    def release(self, reason: str) -> Outcome:
        """Give the task back as it is; nobody's fault."""
        task = self._end(lambda: self._store.release(self.task.id, self.token, reason))
        return Outcome(task_id=task.id, status=RELEASED, reason=reason)

    def _end(self, write: Callable[[], Task]) -> Task:
        try:
            return write()
        except (TaskError, NotFoundError) as error:
            raise ClaimLostError(str(error)) from error

    def _now_ready(self, task: Task) -> tuple[str, ...]:
        table = self._store.table()
        return tuple(one for one in task.blocks if table.find(one) is not None and table.is_ready(one))
