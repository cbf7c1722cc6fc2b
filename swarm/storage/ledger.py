"""One commit: a journal line, then its views (task files, event), then the mark that says they are written.

The line decides. Whoever takes the lock finds by the mark what a killed or failed predecessor left undone,
and does it before anything else: files whose own number is lower are written again, missing events once.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from swarm.core.event import event_of_line
from swarm.core.identity import RUNTIME
from swarm.core.journal import render_line
from swarm.core.operations import Body, stamp
from swarm.core.ports import Clock
from swarm.core.table import TaskTable
from swarm.core.task import Task
from swarm.core.times import format_time
from swarm.errors import StorageIOError
from swarm.settings import Settings
from swarm.storage.events import EventLog
from swarm.storage.journal import Journal
from swarm.storage.layout import TeamLayout
from swarm.storage.lock import FileLock
from swarm.storage.mark import Mark, read_mark, write_mark
from swarm.storage.task_files import TaskFiles


class Ledger:
    """The journal of one team with its views. Keeps journal and lock open; safe for threads."""

    def __init__(self, layout: TeamLayout, by: str, settings: Settings, clock: Clock) -> None:
        self._by = by
        self._clock = clock
        self._lock = FileLock(layout.lock("tasks"), settings, clock, f"{by}@{layout.team}")
        self._guard = threading.RLock()  # the table is also read without the lock
        self._journal = Journal(layout)
        self._events = EventLog(layout, settings, clock, f"{by}@{layout.team}")
        self.files = TaskFiles(layout, settings)
        self.last_failed = 0
        """Number of the line whose commit ended in an error after it may have been written; 0 if none."""

    @contextmanager
    def locked(self) -> Iterator[TaskTable]:
        """Hold the lock, with everything repaired and the table up to date."""
        self._acquire()
        try:
            with self._guard:
                self._take_over()
                yield self._journal.table
        finally:
            self._lock.release()

    def commit(self, body: Body) -> None:
        """Write one operation; only inside `locked`.

        After an error the line may or may not be there, and its views may lag: the next `locked` looks again.
        """
        table = self._journal.table
        line = stamp(body, table.seq + 1, format_time(self._clock.now()), self._by)
        raw = render_line(line)
        own_id = line.get("id") or line["b"]
        before = table.find(own_id)
        self.last_failed = line["seq"]
        try:
            # Applied before it is written: a line that cannot be folded must never get into the journal.
            touched = table.apply(line)
            event = event_of_line(line, before, table.find(own_id))
            self._journal.append(raw)
            self._write_files(touched, {own_id: before})
            self._events.append(event)
            self._write_mark()
        except BaseException:
            self._journal.forget()
            raise
        self.last_failed = 0

    def refresh(self) -> TaskTable:
        """Return the table as the journal has it now, without the lock."""
        with self._guard:
            self._journal.refresh()
            return self._journal.table

    def sync(self) -> None:
        """Make all lines so far safe against power loss."""
        with self._guard:
            self._journal.sync()

    def change_mark(self) -> tuple[int, int]:
        return self._journal.change_mark()

    def close(self) -> None:
        with self._guard:
            self._journal.close()

    def _acquire(self) -> None:
        """Take the lock; without its folder there is no team any more."""
        try:
            self._lock.acquire()
        except StorageIOError as error:
            if isinstance(error.__cause__, FileNotFoundError):
                raise self._journal.missing() from error
            raise

    def _write_files(self, touched: tuple[str, ...], before: Mapping[str, Task | None]) -> None:
        """Neighbours of a deleted task first, its own file last: while others name it, it is there."""
        table = self._journal.table
        for task_id in touched:
            task = table.find(task_id)
            if task is not None:
                self.files.put(task, before.get(task_id))
        for task_id in touched:
            if table.find(task_id) is None:
                self.files.remove(task_id)

    def _write_mark(self) -> None:
        table = self._journal.table
        write_mark(self._lock.fd, self._lock.path, table.gen, table.seq)

    def _take_over(self) -> None:
        """Begin where the last holder of the lock ended, whatever ended it."""
        mark = read_mark(self._lock.fd, self._lock.path)
        self._journal.refresh()
        if mark is not None and mark.gen != self._journal.table.gen:
            self._journal.forget()
            self._journal.refresh()
        self._journal.cut_torn_tail()
        table = self._journal.table
        if mark is None or (mark.gen, mark.seq) != (table.gen, table.seq) or not mark.of_this_boot:
            self._redo(mark)

    def _redo(self, mark: Mark | None) -> None:
        """Write again what the lines above the mark may lack; all lines when there is no mark to trust."""
        table = self._journal.table
        trusted = mark is not None and mark.of_this_boot and mark.gen == table.gen and mark.seq <= table.seq
        replayed = self._journal.replay(above=mark.seq if mark is not None and trusted else 0)
        table = self._journal.table
        touched = dict.fromkeys(task_id for step in replayed for task_id in step.touched)
        for task in filter(None, map(table.find, touched)):
            self.files.redo(task)
        for task_id in touched:
            if table.find(task_id) is None:
                self.files.remove(task_id)
        self.files.sweep()
        recorded = self._events.last_task_seq()
        missing = [step for step in replayed if step.line["seq"] > recorded]
        self._events.append_all([event_of_line(step.line, step.before, step.after) for step in missing])
        self._write_mark()
        if trusted:
            self._events.emit("store_repaired", RUNTIME, lines=len(replayed))
