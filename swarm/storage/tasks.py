"""The task store: every change of a task is decided under the lock and committed as one journal line."""

from __future__ import annotations

import errno
from collections.abc import Callable, Mapping
from typing import Any

from swarm.core import operations
from swarm.core.identity import agent_of_run, make_token
from swarm.core.operations import Body, Refusal
from swarm.core.ports import Clock
from swarm.core.table import TaskTable
from swarm.core.task import STATUSES, NewTask, Task, TaskResult
from swarm.core.times import format_time
from swarm.errors import CorruptStateError, StateError, StorageIOError
from swarm.settings import Settings
from swarm.storage import files
from swarm.storage.hands import Verdict
from swarm.storage.layout import TeamLayout
from swarm.storage.ledger import Ledger
from swarm.storage.task_files import ID_DIGITS_MAX, SETS_ASIDE
from swarm.values import Value

_FEW_TASKS = 300
_LONG_JOURNAL_BYTES = 1 << 20
_LONG_JOURNAL_TIMES = 4
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_MAY_BE_THERE = "; the task may be there all the same: look with swarm task list before you add it again"
Decision = Callable[[TaskTable], Body | None]


class Look(Value):
    """All tasks of a team, lowest id first; `problems`: a sentence for each file that could not be used."""

    tasks: tuple[Task, ...]
    problems: tuple[str, ...] = ()


class TaskStore:
    """The tasks of one team, changed in the name of `by`. Keeps journal and lock open; safe for threads."""

    def __init__(self, layout: TeamLayout, by: str, settings: Settings, clock: Clock) -> None:
        self.by = by
        self._layout = layout
        self._settings = settings
        self._clock = clock
        self._ledger = Ledger(layout, by, settings, clock)
        self._files = self._ledger.files

    # Changes. Each returns the task as it is afterwards.

    def create(self, *news: NewTask) -> tuple[Task, ...]:
        """Create tasks, each by a line of its own, and return them once they are safe on disk.

        An error at one of them leaves the earlier ones created; it says so where any may be there.
        """
        created: list[Task] = []
        failed = self._ledger.last_failed
        try:
            with self._ledger.locked() as table:
                for new in news:
                    created.append(self._create(table, new))  # noqa: PERF401 - an error leaves those so far
            self._sync()
        except StorageIOError as error:
            if created or (self._ledger.last_failed != failed and not self._is_unwritten(error)):
                error.message += _MAY_BE_THERE
            raise
        return tuple(created)

    def claim(self, name: str, role: str | None, run_id: str, task_id: str | None = None) -> Task | Refusal:
        """Take this task, or the lowest that fits, for one life of an agent; a refusal is a usual outcome.

        A claim whose answer was lost in an I/O error is answered by the next call of the same life.
        """
        agent_of_run(run_id)  # a claim under what is none could never be freed
        with self._ledger.locked() as table:
            decided = self._claim(table, name, role, run_id, task_id)
            if isinstance(decided, Refusal):
                return self._find_unanswered(table, name, run_id, task_id) or decided
            return table.get(decided["id"])

    def complete(self, task_id: str, token: str, result: TaskResult) -> Task:
        """End a task with success. Repeating it with the same token is no error and writes nothing."""
        return self._end(task_id, lambda table: operations.complete(table, task_id, token, result))

    def fail(self, task_id: str, token: str, reason: str) -> Task:
        return self._end(task_id, lambda table: operations.fail(table, task_id, token, reason))

    def end_attempt(self, task_id: str, token: str, reason: str, *, final: bool = False) -> Task:
        """Give a task back after an attempt without success; after the last or `final` one it has failed."""
        limit = self._settings.attempts_max

        def decide(table: TaskTable) -> Body:
            return operations.end_attempt(table, task_id, token, reason, limit, final=final)

        return self._end(task_id, decide)

    def release(self, task_id: str, token: str, reason: str, *, to_nobody: bool = False) -> Task:
        def decide(table: TaskTable) -> Body:
            return operations.release(table, task_id, token, reason, to_nobody=to_nobody)

        return self._change(task_id, decide)

    def free_dead(self, task_id: str, run_id: str, reason: str) -> Task | None:
        """Take a task from a life that has ended; None when that life does not hold it (any more).

        The caller has proved that it has ended, and has ended its commands.
        """

        def decide(table: TaskTable) -> Body | None:
            known = table.find(task_id) is not None
            limit = self._settings.crashes_max
            return operations.free_dead(table, task_id, run_id, reason, limit) if known else None

        with self._ledger.locked() as table:
            if not self._ledger.change(decide, task_id):
                return None
            freed = table.get(task_id)
        if freed.finished:
            self._sync()
        return freed

    def cancel(self, task_id: str, reason: str) -> Task:
        return self._end(task_id, lambda table: operations.cancel(table, task_id, reason))

    def retry(self, task_id: str, *, to_nobody: bool = False) -> Task:
        return self._change(task_id, lambda table: operations.retry(table, task_id, to_nobody=to_nobody))

    def edit(self, task_id: str, fields: Mapping[str, Any], ours: Mapping[str, Any] | None = None) -> Task:
        """Set fields of the file, and keys of ours under `metadata.swarm`; None removes one."""
        return self._change(
            task_id, lambda table: operations.edit(table, task_id, fields, ours or {}, self.by)
        )

    def link(self, a: str, b: str) -> Task:
        """Make `b` wait for `a` and return `b`."""
        return self._change(b, lambda table: operations.link(table, a, b), a)

    def unlink(self, a: str, b: str) -> Task:
        """Make `b` wait for `a` no more and return `b`."""
        return self._change(b, lambda table: operations.unlink(table, a, b), a)

    def delete(self, task_id: str, *, unlink: bool = False) -> None:
        """Remove a task for good; its id is never used again. With `unlink` also when others wait for it."""

        def decide(table: TaskTable) -> Body:
            body = operations.delete(table, task_id, unlink=unlink)
            self._raise_highwatermark(table.next_id - 1)
            return body

        with self._ledger.locked():
            self._ledger.change(decide, task_id)

    # What other hands did to the files, and the journal's own upkeep.

    def sweep(self) -> tuple[Verdict, ...]:
        """Compare all files with the journal, and take over or put back what another hand changed.

        For a leader that opens a team, and for now and then: while nothing changes it costs one `stat` of
        each file and takes no lock.
        """
        return tuple(self._ledger.sweep())

    def odd_files(self) -> tuple[str, ...]:
        """Return the names in the folder of tasks that can be no task, and are never read."""
        return tuple(self._files.odd_names())

    def rewrite(self) -> None:
        """Replace the journal by the tasks as they are now; numbers, ids and tokens go on."""
        self._ledger.rewrite()

    def rewrite_if_long(self) -> bool:
        """Rewrite a journal that has become much longer than what it says. For a leader that opens a team."""
        return self._ledger.rewrite(least=_LONG_JOURNAL_BYTES, times=_LONG_JOURNAL_TIMES)

    # Reading. No lock.

    def table(self) -> TaskTable:
        """Return the table as the journal has it now. It changes with the next call; do not keep it."""
        return self._ledger.refresh()

    def list_tasks(self) -> tuple[Task, ...]:
        """Return the tasks as their files show them, or the journal where a file is missing or damaged."""
        return self.look().tasks

    def look(self) -> Look:
        """Return what `list_tasks` does, and what is amiss; a journal that is no use hides no file."""
        ids = self._files.ids()  # before the journal, which knows what goes or comes from now on
        try:
            table, problems = self.table(), []
        except StateError as error:
            if not ids:
                raise
            table = TaskTable(self._layout.team)
            problems = [f"{error.message}; this is what the task files say"]
        found = []
        for task_id in sorted({*ids, *table.ids()}, key=int):
            known = table.find(task_id)
            try:
                task = self._files.find(task_id) or known
            except StateError as error:
                task = known
                if known is None:
                    problems.append(_no_task(error))
            if task is not None:
                found.append(task)
        return Look(tasks=tuple(found), problems=tuple(problems))

    def get_task(self, task_id: str) -> Task:
        """Return a task as its file shows it, or as the journal has it when the file is missing."""
        return self._find_in_file(task_id) or self.table().get(task_id)

    def change_mark(self) -> tuple[int, int]:
        """Return what differs after any change of a task; costs one `stat`."""
        return self._ledger.change_mark()

    def close(self) -> None:
        """Close the journal; it opens again when needed."""
        self._ledger.close()

    def _find_in_file(self, task_id: str) -> Task | None:
        try:
            return self._files.find(task_id)
        except StateError:
            known = self.table().find(task_id)
            if known is None:
                raise
            return known

    def _change(self, task_id: str, decide: Decision, *others: str) -> Task:
        with self._ledger.locked() as table:
            self._ledger.change(decide, task_id, *others)
            return table.get(task_id)

    def _claim(
        self, table: TaskTable, name: str, role: str | None, run_id: str, task_id: str | None
    ) -> Body | Refusal:
        def decide(table: TaskTable) -> Body | Refusal:
            return operations.claim(table, name, role, run_id, task_id)

        decided = self._ledger.change(decide, *([] if task_id is None else [task_id]))
        if isinstance(decided, Refusal) and decided.code == "nothing_ready" and self._look_around(table):
            return self._ledger.change(decide)
        return decided

    def _look_around(self, table: TaskTable) -> bool:
        """Tell whether other hands have changed anything; in a large team only whether they added tasks."""
        counts = table.counts()
        few = sum(counts[status] for status in STATUSES) <= _FEW_TASKS
        open_ids = [task.id for task in table.tasks() if not task.finished] if few else []
        changed = self._ledger.judge(open_ids)
        return self._ledger.judge_new() or bool(changed)

    def _end(self, task_id: str, decide: Decision) -> Task:
        task = self._change(task_id, decide)
        self._sync()
        return task

    def _sync(self) -> None:
        """After the unlock: the kernel makes one of all that wait at the same time."""
        if self._settings.durability != "none":
            self._ledger.sync()

    def _find_unanswered(self, table: TaskTable, name: str, run_id: str, task_id: str | None) -> Task | None:
        token = make_token(self._ledger.last_failed, run_id)
        held = (table.get(held_id) for held_id in table.in_progress_of(name))
        lost = next((task for task in held if task.claim is not None and task.claim.token == token), None)
        return lost if lost is not None and task_id in (None, lost.id) else None

    def _create(self, table: TaskTable, new: NewTask) -> Task:
        body = self._ledger.change(lambda table: self._new(table, new), *new.blocked_by)
        return table.get(body["id"])

    def _is_unwritten(self, error: StorageIOError) -> bool:
        """Tell whether there was no room for the line: what is torn of it is no line."""
        return error.details["path"] == self._layout.journal and error.details["errno"] in _NO_ROOM

    def _new(self, table: TaskTable, new: NewTask) -> Body:
        body = operations.create(table, new, format_time(self._clock.now()), self.by)
        free_id = self._free_id(table)
        return {**body, "id": free_id, "task": {**body["task"], "id": free_id}}

    def _free_id(self, table: TaskTable) -> str:
        """Return the next id: not used in the journal, and neither by another client's counter or file."""
        number = max(table.next_id, self._highwatermark() + 1)
        if self._files.exists(str(number)):
            number = max(number, *map(int, self._files.ids())) + 1
        return str(number)

    def _highwatermark(self) -> int:
        digits = (files.find_bytes(self._layout.highwatermark) or b"").strip()
        return int(digits) if digits.isdigit() and len(digits) <= ID_DIGITS_MAX else 0

    def _raise_highwatermark(self, highest: int) -> None:
        if highest > self._highwatermark():
            files.write_bytes(self._layout.highwatermark, str(highest).encode())


def _no_task(error: StateError) -> str:
    """Return what is wrong with a numbered file that the journal does not know, and what to do."""
    if isinstance(error, CorruptStateError):
        return f"{error.details['path']} is no task ({error.why}); {SETS_ASIDE}"
    return f"{error.message}; see swarm doctor"
