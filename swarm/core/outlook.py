"""Which pending tasks may still come to somebody: those that wait for no failed or cancelled one.

Kept up to date line by line, so that an agent without work learns its prospects without looking at all tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from swarm.core.ready import ReadyQueue
from swarm.core.task import Task

_ENDED_WITHOUT_SUCCESS = ("failed", "cancelled")


class Outlook:
    """The pending tasks with a future, by lanes. `dependents` gives the ids that name a task as blocker."""

    def __init__(
        self,
        find: Callable[[str], Task | None],
        dependents: Callable[[str], Iterable[str]],
        lane: Callable[[Task], str],
    ) -> None:
        self._find = find
        self._dependents = dependents
        self._lane = lane
        self._hopeless: set[str] = set()
        self._queue = ReadyQueue()

    def refresh(self, task_id: str) -> None:
        """Look at a task after it has changed, and at all whose prospects follow from its own."""
        changed = [task_id]
        while changed:
            one = changed.pop()
            task = self._find(one)
            hopeless = task is not None and self._is_hopeless(task)
            if task is not None and task.status == "pending" and not hopeless:
                self._queue.add(int(one), self._lane(task))
            else:
                self._queue.remove(int(one))
            if hopeless != (one in self._hopeless):
                self._hopeless ^= {one}
                changed.extend(self._dependents(one))

    def lowest(self, lanes: Iterable[str], fits: Callable[[int], bool]) -> int | None:
        """Return the lowest of these lanes that fits."""
        return self._queue.first(lanes, fits)

    def _is_hopeless(self, task: Task) -> bool:
        """Tell whether nothing that waits for this task will ever start by itself."""
        if task.status == "pending":
            return any(other in self._hopeless for other in task.blocked_by)
        return task.status in _ENDED_WITHOUT_SUCCESS
