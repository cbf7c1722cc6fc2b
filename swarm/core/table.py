"""The task table: the journal folded, with the indexes that make the next decision cheap.

Readiness is never stored: it follows from the blockers' statuses, and from nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from swarm.core.fields import integer
from swarm.core.fold import Changes, Fold, changed_by, changes_of, settled_later
from swarm.core.globs import may_overlap
from swarm.core.graph import shortest_path
from swarm.core.journal import parse_line
from swarm.core.outlook import Outlook
from swarm.core.ready import OPEN_LANE, ReadyQueue
from swarm.core.task import STATUSES, Task, render_task
from swarm.errors import NotFoundError


class TaskTable:
    """All tasks of one team after the last line applied. `next_id` is the number of the next new task."""

    def __init__(self, team: str) -> None:
        self.team = team
        self._fold = Fold(find=self.find, team=team)
        self._reset(gen=0, seq=0, next_id=1)

    def _reset(self, *, gen: int, seq: int, next_id: int) -> None:
        self.gen, self.seq, self.next_id = gen, seq, next_id
        self._tasks: dict[str, Task] = {}
        self._later: dict[str, bytes] = {}  # lines, as they were read, that are not in these tasks yet
        self._statuses: dict[str, str] = {}
        self._dependents: dict[str, dict[str, None]] = {}
        self._waits: dict[str, int] = {}  # for each task, how many of its blockers are not completed
        self._queue = ReadyQueue()
        self._outlook = Outlook(self._statuses, self._tasks, self._dependents, _lane)
        self._running: dict[str, str | None] = {}  # with their owners
        self._status_counts = dict.fromkeys(STATUSES, 0)

    def apply(self, line: Mapping[str, Any], raw: bytes | None = None) -> tuple[str, ...]:
        """Apply one line and return the ids it touched, the line's own task first.

        A line that is in the table already changes nothing; one that leaves a gap, or cannot be
        true of these tasks, is a ValueError and changes nothing either. Who gives the line as it was read
        as well allows to put off what nobody may ever ask for.
        """
        if line.get("op") == "head":
            self._begin(line)
            return ()
        seq = line.get("seq")
        if seq is not None and seq <= self.seq:
            return ()
        if seq is not None and seq != self.seq + 1:
            raise ValueError(f"journal line {seq} follows line {self.seq}")
        status = settled_later(line) if raw else None
        if raw and status and line["id"] in self._tasks:
            self._later[line["id"]] = self._later.get(line["id"], b"") + raw
            self._move_on(line["id"], status, line["by"])
            self.seq = line["seq"]
            return (line["id"],)
        changes = changes_of(line, self._fold)
        self._put_all(changes)
        if seq is not None:
            self.seq = seq
        return tuple(changes)

    def goes_on_in(self, head: Mapping[str, Any]) -> bool:
        """Tell whether a rewritten journal that starts so begins right where this table stands."""
        return integer(head, "gen") == self.gen + 1 and integer(head, "seq") == self.seq

    def _begin(self, head: Mapping[str, Any]) -> None:
        gen, seq, next_id = integer(head, "gen"), integer(head, "seq"), integer(head, "next")
        if self.goes_on_in(head):
            self.gen, self.next_id = gen, max(self.next_id, next_id)
        else:
            self._reset(gen=gen, seq=seq, next_id=next_id)

    def snapshot(self) -> tuple[Mapping[str, Any], ...]:
        """Return the lines that a rewritten journal starts with: from them alone follows this table."""
        tasks = self.tasks()
        head = {"op": "head", "gen": self.gen + 1, "seq": self.seq, "next": self.next_id, "tasks": len(tasks)}
        return head, *({"op": "snap", "task": render_task(task)} for task in tasks)

    def find(self, task_id: str) -> Task | None:
        if task_id in self._later:
            for raw in self._later.pop(task_id).splitlines():
                self._tasks.update(changed_by(parse_line(raw), self._fold))
        return self._tasks.get(task_id)

    def get(self, task_id: str) -> Task:
        """Return the task of this id, else `no_such_task`."""
        found = self.find(task_id)
        if found is None:
            raise NotFoundError(
                f"there is no task {task_id} in team {self.team}",
                code="no_such_task",
                details={"task": task_id},
            )
        return found

    def tasks(self) -> tuple[Task, ...]:
        """Return all tasks, lowest id first."""
        return tuple(map(self.get, self.ids()))

    def ids(self) -> tuple[str, ...]:
        return tuple(sorted(self._tasks, key=int))

    def open_blockers(self, task_id: str) -> tuple[str, ...]:
        """Return the blockers that are not completed: failed and cancelled ones hold a task back as well."""
        return tuple(other for other in self.get(task_id).blocked_by if not self._is_completed(other))

    def is_ready(self, task_id: str) -> bool:
        return int(self.get(task_id).id) in self._queue

    def ready_ids(self) -> tuple[str, ...]:
        """Return the pending tasks without an open blocker, lowest id first, whoever they are meant for."""
        return tuple(map(str, self._queue.numbers()))

    def lowest_claimable(self, name: str, role: str | None) -> str | None:
        """Return the lowest ready task that this agent may take now."""
        number = self._queue.first(
            _lanes(name, role), lambda n: self._may_take(self._tasks[str(n)], name, role)
        )
        return None if number is None else str(number)

    def lowest_expected(self, name: str, role: str | None) -> str | None:
        """Return the lowest pending task that may come to this agent now or later, by itself."""
        number = self._outlook.lowest(
            _lanes(name, role), lambda n: _is_meant_for(self._tasks[str(n)], name, role)
        )
        return None if number is None else str(number)

    def in_progress_of(self, name: str) -> tuple[str, ...]:
        """Return the tasks that this agent holds."""
        return tuple(task_id for task_id, owner in self._running.items() if owner == name)

    def in_progress(self) -> tuple[Task, ...]:
        """Return the tasks that somebody is on; costs nothing for all others."""
        return tuple(map(self.get, self._running))

    def overlapping(self, task: Task) -> tuple[str, ...]:
        """Return the other tasks in progress that may write what this one may write."""
        if not task.files:
            return ()
        running = (self._tasks[task_id] for task_id in self._running if task_id != task.id)
        return tuple(other.id for other in running if _files_overlap(task, other))

    def cycle_with(self, a: str, b: str) -> tuple[str, ...] | None:
        """Return the loop that would close if `a` blocked `b`, or None."""
        path = shortest_path(b, a, lambda task_id: self._dependents.get(task_id, ()))
        return (a, *path) if path else None

    def counts(self) -> dict[str, int]:
        pending, ready = self._status_counts["pending"], len(self._queue)
        finished = {key: self._status_counts[key] for key in STATUSES if key != "pending"}
        return {"pending": pending, "ready": ready, "blocked": pending - ready, **finished}

    def _is_completed(self, task_id: str) -> bool:
        return self._statuses.get(task_id) == "completed"

    def _may_take(self, task: Task, name: str, role: str | None) -> bool:
        return _is_meant_for(task, name, role) and not self.overlapping(task)

    def _move_on(self, task_id: str, status: str, by: str) -> None:
        """Do what `_move` does, for a claim or completion alone: all processes do it for all that one does.

        What else such a line says of its task waits until somebody asks.
        """
        before, number = self._statuses[task_id], int(task_id)
        self._statuses[task_id] = status
        self._status_counts[before] -= 1
        self._status_counts[status] += 1
        self._queue.remove(number)
        self._outlook.drop(task_id)
        if status == "in_progress":
            self._running[task_id] = by
        else:
            self._running.pop(task_id, None)
        if (status == "completed") != (before == "completed"):
            self._tell_dependents(task_id, -1 if status == "completed" else 1)

    def _put_all(self, changes: Changes) -> None:
        for task_id, task in changes.items():
            self._put(task_id, task)

    def _put(self, task_id: str, after: Task | None) -> None:
        before = self._tasks.get(task_id)
        self._later.pop(task_id, None)
        if after is None:
            self._tasks.pop(task_id, None)
        else:
            self._tasks[task_id] = after
            self.next_id = max(self.next_id, int(task_id) + 1)
        old, new = (before.blocked_by if before else ()), (after.blocked_by if after else ())
        if old != new:
            self._relink(task_id, old, new)
        self._move(task_id, after.status if after else None, after.owner if after else None)

    def _move(self, task_id: str, status: str | None, owner: str | None) -> None:
        """Bring all indexes up to date with a task's status; None: it is gone."""
        before = self._statuses.pop(task_id, None)
        if before is not None:
            self._status_counts[before] -= 1
        self._running.pop(task_id, None)
        if status is not None:
            self._statuses[task_id] = status
            self._status_counts[status] += 1
            if status == "in_progress":
                self._running[task_id] = owner
        if (status == "completed") != (before == "completed"):
            self._tell_dependents(task_id, -1 if status == "completed" else 1)
        self._refresh(task_id)
        self._outlook.refresh(task_id)

    def _relink(self, task_id: str, old: tuple[str, ...], new: tuple[str, ...]) -> None:
        for other in old:
            self._dependents[other].pop(task_id, None)
        for other in new:
            self._dependents.setdefault(other, {})[task_id] = None
        self._waits[task_id] = sum(not self._is_completed(other) for other in dict.fromkeys(new))

    def _tell_dependents(self, task_id: str, change: int) -> None:
        for dependent in self._dependents.get(task_id, ()):
            self._waits[dependent] += change
            self._refresh(dependent)

    def _refresh(self, task_id: str) -> None:
        if self._statuses.get(task_id) == "pending" and not self._waits.get(task_id):
            self._queue.add(int(task_id), _lane(self._tasks[task_id]))
        else:
            self._queue.remove(int(task_id))


def _lanes(name: str, role: str | None) -> tuple[str, ...]:
    return tuple(dict.fromkeys((OPEN_LANE, name, role or OPEN_LANE)))


def _is_meant_for(task: Task, name: str, role: str | None) -> bool:
    assigned = task.owner is None or task.owner in (name, role)
    return assigned and (task.requires is None or task.requires.fits(name, role))


def _lane(task: Task) -> str:
    wanted = (task.requires.agent or task.requires.role) if task.requires else None
    return task.owner or wanted or OPEN_LANE


def _files_overlap(a: Task, b: Task) -> bool:
    return any(may_overlap(mine, theirs) for mine in a.files for theirs in b.files)
