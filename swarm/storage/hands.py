"""Judges what other hands did to the task files: clients that know no journal, and people with an editor."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from swarm.core.foreign import PutBack, Step, adopt, adopt_later, adopt_new, adopt_new_links
from swarm.core.identity import RUNTIME
from swarm.core.operations import Body
from swarm.core.ports import Clock
from swarm.core.table import TaskTable
from swarm.core.task import Task
from swarm.core.times import format_time
from swarm.storage.events import EventLog
from swarm.storage.journal import Journal
from swarm.storage.layout import TeamLayout
from swarm.storage.task_files import Damaged, TaskFiles, guessed_base
from swarm.values import Value


class Verdict(Value):
    """One file that did not show what the journal says, and what was done.

    `what`: `adopted`, `put_back` (it was not to be changed so), `restored` (it was missing, old or
    damaged), `removed` (its task is deleted) or `damaged` (no task is known by that id; left as it is).
    """

    task: str
    what: str
    fields: str = ""
    reason: str = ""


class Hands:
    """Compares task files with the journal, under the task lock. Lines are written by `commit`."""

    def __init__(
        self,
        layout: TeamLayout,
        clock: Clock,
        files: TaskFiles,
        events: EventLog,
        commit: Callable[[Body], None],
    ) -> None:
        self._layout = layout
        self._clock = clock
        self._files = files
        self._events = events
        self._commit = commit

    def judge(self, table: TaskTable, task_ids: Iterable[str]) -> list[Verdict]:
        """Compare the files of these tasks, and all that the journal does not know if one is among them."""
        found: list[Verdict] = []
        unknown = False
        for task_id in task_ids:
            task = table.find(task_id)
            if task is not None:
                found += self._judge_known(table, task)
            else:
                unknown = unknown or self._files.exists(task_id)
        return found + (self.judge_unknown(table) if unknown else [])

    def judge_unknown(self, table: TaskTable) -> list[Verdict]:
        """Take over the files that the journal does not know: blockers first, and the links at the end.

        What a killed deletion left, or a late writer brought back, is removed.
        """
        findings, added = self._add_unknown(table, table.seq)
        for task_id, found in added.items():
            findings += [
                Verdict(task=task_id, what="adopted"),
                *self._finish(table, task_id, adopt_new_links(table, found), quiet=True),
            ]
        return findings

    def take_over_lost(self, table: TaskTable, last: int) -> None:
        """Take over what files know of lines behind this one, which the journal has lost. Writes no file.

        All are read first, since the line of one may change its neighbours.
        """
        later = [found for task_id in table.ids() if (found := self._find(task_id)) and found.seq > last]
        _, added = self._add_unknown(table, last)
        links = (adopt_new_links(table, found) for found in added.values())
        for steps in (*links, *(adopt_later(table, found) for found in later)):
            for step in steps:
                if not isinstance(step, PutBack):  # the file is written by the journal afterwards
                    self._commit(step)

    def _find(self, task_id: str) -> Task | None:
        try:
            return self._files.read(task_id)
        except Damaged:
            return None

    def _add_unknown(self, table: TaskTable, last: int) -> tuple[list[Verdict], dict[str, Task]]:
        """Add the tasks that the journal does not know; up to the line of this number it knew all."""
        findings: list[Verdict] = []
        waiting: dict[str, Task] = {}
        for task_id in self._files.ids():
            if table.find(task_id) is None:
                findings += self._sort_out(table, task_id, waiting, last)
        added = dict(waiting)
        while waiting:
            for task_id in _next_of(waiting):
                self._commit(adopt_new(table, waiting.pop(task_id), format_time(self._clock.now())))
        return findings, added

    def _sort_out(self, table: TaskTable, task_id: str, waiting: dict[str, Task], last: int) -> list[Verdict]:
        try:
            found = self._files.read(task_id)
        except Damaged as damage:
            return [Verdict(task=task_id, what="damaged", reason=str(damage))]
        if found is None:
            return []
        if is_left_over(table, found, last):
            self._files.remove(task_id)
            return [Verdict(task=task_id, what="removed")]
        waiting[task_id] = found
        return []

    def _judge_known(self, table: TaskTable, task: Task) -> list[Verdict]:
        try:
            found = self._files.differing(task)
        except Damaged as damage:
            self._files.restore(task)
            if not damage.shaped:
                return [Verdict(task=task.id, what="restored", reason=str(damage))]
            return [self._tell(task, [PutBack(fields="", reason=str(damage))])]
        if found is None and self._files.exists(task.id):
            return []
        if found is None:
            self._files.restore(task)
            return [Verdict(task=task.id, what="restored", reason="it was missing")]
        if found.seq > table.seq:
            steps = adopt_later(table, found)
        else:
            steps = adopt(table, self._base(task, found), found)
        return self._finish(table, task.id, steps)

    def _finish(
        self, table: TaskTable, task_id: str, steps: Iterator[Step], *, quiet: bool = False
    ) -> list[Verdict]:
        """Write the lines, then make the file show the outcome."""
        refused: list[PutBack] = []
        written = 0
        for step in steps:
            if isinstance(step, PutBack):
                refused.append(step)
            else:
                self._commit(step)
                written += 1
        task = table.get(task_id)
        if self._differs(task):
            self._files.restore(task)
        if refused:
            return [self._tell(task, refused)]
        return [] if quiet else [Verdict(task=task_id, what="adopted" if written else "restored")]

    def _differs(self, task: Task) -> bool:
        try:
            return self._files.differing(task) is not None
        except Damaged:
            return True

    def _tell(self, task: Task, refused: list[PutBack]) -> Verdict:
        fields = " ".join(dict.fromkeys(step.fields for step in refused))
        reason = "; ".join(dict.fromkeys(step.reason for step in refused))
        self._events.emit(
            "task_edit_reverted",
            RUNTIME,
            task=task.id,
            subject=task.subject,
            fields=fields or None,
            reason=reason,
        )
        return Verdict(task=task.id, what="put_back", fields=fields, reason=reason)

    def _base(self, task: Task, found: Task) -> Task:
        """Return what the journal said when the file was last written by us."""
        if found.seq in (0, task.seq) or found.seq > task.seq:
            return task
        journal = Journal(self._layout)
        try:
            return journal.replay(0).version(task.id, found.seq) or guessed_base(task, found)
        finally:
            journal.close()


def is_left_over(table: TaskTable, found: Task, last: int) -> bool:
    """Tell whether a file whose task is not there is one of ours that a deletion left, or a late writer.

    `last` is the line up to which the journal is known to be whole.
    """
    return int(found.id) < table.next_id and 0 < found.seq <= last


def _next_of(waiting: dict[str, Task]) -> list[str]:
    """Return the tasks that wait for none of the others; in a loop, all."""
    free = [id_ for id_, task in waiting.items() if not any(b in waiting for b in task.blocked_by)]
    return free or list(waiting)
