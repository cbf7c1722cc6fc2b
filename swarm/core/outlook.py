"""Which pending tasks may still come to somebody: those that wait for no failed or cancelled one.

Kept up to date line by line, so that an agent without work learns its prospects without looking at all tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from swarm.core.ready import ReadyQueue
from swarm.core.task import Task

_ENDED_WITHOUT_SUCCESS = ("failed", "cancelled")


class Outlook:
    """The pending tasks with a future, by lanes. `dependents` holds the ids that name a task as blocker.

    Of a task that changed nothing else than its status, the owner's copy may be an older one.
    """

    def __init__(
        self,
        statuses: Mapping[str, str],
        tasks: Mapping[str, Task],
        dependents: Mapping[str, Iterable[str]],
        lane: Callable[[Task], str],
    ) -> None:
        self._statuses = statuses
        self._tasks = tasks
        self._dependents = dependents
        self._lane = lane
        self._hopeless: set[str] = set()
        self._queue = ReadyQueue()

    def refresh(self, task_id: str) -> None:
        """Look at a task after it has changed, and at all whose prospects follow from its own."""
        changed = [task_id]
        while changed:
            one = changed.pop()
            status = self._statuses.get(one)
            hopeless = self._is_hopeless(one, status)
            if status == "pending" and not hopeless:
                self._queue.add(int(one), self._lane(self._tasks[one]))
            else:
                self._queue.remove(int(one))
            if hopeless != (one in self._hopeless):
                self._hopeless ^= {one}
                changed.extend(self._dependents.get(one, ()))

    def drop(self, task_id: str) -> None:
        """Forget a task that was claimed or completed: nothing is lost by it."""
        if task_id in self._hopeless:
            self.refresh(task_id)
        self._queue.remove(int(task_id))

    def lowest(self, lanes: Iterable[str], fits: Callable[[int], bool]) -> int | None:
        """Return the lowest of these lanes that fits."""
        return self._queue.first(lanes, fits)

    def _is_hopeless(self, task_id: str, status: str | None) -> bool:
        """Tell whether nothing that waits for this task will ever start by itself."""
        if status == "pending":
            return any(other in self._hopeless for other in self._tasks[task_id].blocked_by)
        return status in _ENDED_WITHOUT_SUCCESS
