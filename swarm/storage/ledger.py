"""One commit: a journal line, then its views (task files, event), then the mark that says they are written.

The line decides. Whoever takes the lock finds by the mark what a killed or failed predecessor left undone,
and does it before anything else: files whose own number is lower are written again, missing events once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TypeVar

from swarm.core.event import event_of_line
from swarm.core.fold import named_ids
from swarm.core.identity import RUNTIME
from swarm.core.journal import render_line
from swarm.core.operations import Body, Refusal, stamp
from swarm.core.ports import Clock
from swarm.core.table import TaskTable
from swarm.core.task import Task
from swarm.core.times import format_time
from swarm.errors import CorruptStateError, StorageIOError
from swarm.settings import Settings
from swarm.storage.events import EventLog
from swarm.storage.hands import Hands, Verdict
from swarm.storage.journal import Journal
from swarm.storage.layout import TeamLayout
from swarm.storage.lock import FileLock
from swarm.storage.mark import find_mark, is_of_this_boot
from swarm.storage.succession import Store, Succession
from swarm.storage.task_files import TaskFiles

Answer = TypeVar("Answer", Body, Body | None, Body | Refusal)


class Ledger:
    """The journal of one team with its views. Keeps journal and lock open; safe for threads."""

    def __init__(self, layout: TeamLayout, by: str, settings: Settings, clock: Clock) -> None:
        self._by = by
        self._clock = clock
        self._layout = layout
        self._lock = FileLock(layout.lock("tasks"), settings, clock, f"{by}@{layout.team}")
        self._guard = threading.RLock()  # the table is also read without the lock
        self._journal = Journal(layout)
        self._events = EventLog(layout, settings, clock, f"{by}@{layout.team}")
        self.files = TaskFiles(layout, settings)
        store = Store(layout, self._lock, self._journal, self._events, self.files)
        self._succession = Succession(store, clock, by=by, synced=settings.durability != "none")
        self.last_failed = 0
        """Number of the line whose commit ended in an error after it may have been written; 0 if none."""

    @contextmanager
    def locked(self) -> Iterator[TaskTable]:
        """Hold the lock, with everything repaired and the table up to date."""
        self._acquire()
        try:
            with self._guard:
                self._succession.take_over(self._hands)
                yield self._journal.table
        finally:
            self._lock.release()

    def change(self, decide: Callable[[TaskTable], Answer], *task_ids: str) -> Answer:
        """Decide and write one operation; only inside `locked`.

        What another hand did to a file that is concerned comes first: then the decision is made anew.
        """
        self.judge(task_ids)
        judged = set(task_ids)
        while True:
            answer = decide(self._journal.table)
            if not isinstance(answer, dict):
                return answer
            named = [task_id for task_id in named_ids(answer) if task_id not in judged]
            judged.update(named)
            if not self.judge(named):
                self.commit(answer)
                return answer

    def commit(self, body: Body) -> None:
        """Write one operation; only inside `locked`.

        After an error the line may or may not be there, and its views may lag: the next `locked` looks again.
        """
        table = self._journal.table
        line = stamp(body, table.seq + 1, format_time(self._clock.now()), self._by)
        raw = render_line(line)
        before = {task_id: table.find(task_id) for task_id in named_ids(line)}
        own_id, own = next(iter(before.items()))
        self.last_failed = line["seq"]
        try:
            # Applied before it is written: a line that cannot be folded must never get into the journal.
            touched = table.apply(line)
            event = event_of_line(line, own, table.find(own_id))
            self._journal.append(raw)
            self._write_files(touched, before)
            self._events.append(event)
            self._succession.write_mark()
        except BaseException:
            self._journal.forget()
            raise
        self.last_failed = 0

    def judge(self, task_ids: Iterable[str]) -> list[Verdict]:
        """Compare these files with the journal, and take over or put back what differs; only in `locked`."""
        table = self._journal.table
        suspects = [task_id for task_id in task_ids if self.files.is_suspect(task_id, table.find(task_id))]
        return self._hands().judge(table, suspects) if suspects else []

    def judge_new(self) -> bool:
        """Take over the tasks that another hand added since the last time; only in `locked`."""
        return self.files.folder_changed() and bool(self._hands().judge_unknown(self._journal.table))

    def sweep(self) -> list[Verdict]:
        """Compare all files with the journal; where nothing changed, that takes no lock and a `stat` each."""
        table = self.refresh()
        with self._guard:
            suspects = self.files.suspects(table)
        if not suspects:
            return []
        with self.locked() as table:
            return self._hands().judge(table, suspects)

    def rewrite(self, *, least: int = 0, times: int = 0) -> bool:
        """Put the tasks as they are in place of all lines so far; a journal that is no longer is left alone.

        The mark comes before the rename: in the other order, a kill would leave writers with the old file.
        """
        with self.locked() as table:
            size = self._journal.size
            if size < least or size < times * len(self._journal.snapshot()):
                return False
            self._succession.replace(self._journal.snapshot(), table.gen + 1, table.seq)
            after = self._journal.size
            self._events.emit("journal_rewritten", RUNTIME, bytes_before=size, bytes_after=after)
        return True

    def refresh(self) -> TaskTable:
        """Return the table as the journal has it now, without the lock."""
        with self._guard:
            least = self._journal.table.seq
            mark = None if least else find_mark(self._lock.path)  # before the lines, which come before it
            try:
                self._journal.refresh()
                if not (self._journal.table.seq < least or self._succession.is_cut(mark)):
                    return self._journal.table
            except CorruptStateError:
                if is_of_this_boot(find_mark(self._lock.path)):
                    raise
        with self.locked() as table:  # nobody has mended yet what a power loss, or another hand, has left
            return table

    def sync(self) -> None:
        """Make all lines so far safe against power loss."""
        with self._guard:
            self._journal.sync()

    def change_mark(self) -> tuple[int, int]:
        return self._journal.change_mark()

    def close(self) -> None:
        with self._guard:
            self._journal.close()
        self._events.close()

    def _acquire(self) -> None:
        """Take the lock; without its folder there is no team any more."""
        try:
            self._lock.acquire(meanwhile=self._read_ahead)
        except StorageIOError as error:
            if isinstance(error.__cause__, FileNotFoundError):
                raise self._journal.missing() from error
            raise

    def _hands(self, commit: Callable[[Body], None] | None = None) -> Hands:
        return Hands(self._layout, self._clock, self.files, self._events, commit or self._commit_found)

    def _read_ahead(self) -> None:
        """Apply what others write while we wait for the lock; what is damaged is seen to under it."""
        with self._guard, suppress(CorruptStateError):
            self._journal.refresh()

    def _commit_found(self, body: Body) -> None:
        """Write a line for another hand: which of our own lines failed is still to be known afterwards."""
        failed = self.last_failed
        self.commit(body)
        self.last_failed = failed

    def _write_files(self, touched: tuple[str, ...], before: Mapping[str, Task | None]) -> None:
        """Neighbours of a deleted task first, its own file last: while others name it, it is there."""
        table = self._journal.table
        for task_id in touched:
            task = table.find(task_id)
            if task is not None:
                self.files.put(task, before.get(task_id) or task)
        for task_id in touched:
            if table.find(task_id) is None:
                self.files.remove(task_id)
