"""What whoever takes the task lock does first: finish what its last holder, or a power loss, left undone."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import NamedTuple

from swarm.core.event import event_of_line
from swarm.core.identity import RUNTIME
from swarm.core.journal import render_line
from swarm.core.operations import Body, stamp
from swarm.core.ports import Clock
from swarm.core.times import format_time
from swarm.errors import CorruptStateError
from swarm.storage.events import EventLog
from swarm.storage.hands import Hands
from swarm.storage.journal import Journal, Replay
from swarm.storage.layout import TeamLayout
from swarm.storage.lock import FileLock
from swarm.storage.mark import Mark, is_of_this_boot, parse_mark, read_raw, render_mark, write_mark
from swarm.storage.task_files import TaskFiles

MakeHands = Callable[[Callable[[Body], None] | None], Hands]
"""Makes what judges other hands; its lines go to the given function, else into the journal."""


class Store(NamedTuple):
    """The parts of one team's task store."""

    layout: TeamLayout
    lock: FileLock
    journal: Journal
    events: EventLog
    files: TaskFiles


class Succession:
    """Brings journal, files, events and mark of one team into line. Only for the holder of its lock."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        *,
        by: str,
        synced: bool,
    ) -> None:
        self._layout, self._lock, self._journal, self._events, self._files = store
        self._clock = clock
        self._by = by
        self._synced = synced

    def take_over(self, hands: MakeHands) -> None:
        """Begin where the last holder of the lock ended, whatever ended it."""
        raw = read_raw(self._lock.fd, self._lock.path)
        kept = self._refresh(raw)
        if raw != self._full_mark():
            self._journal.change_mark()  # makes a network mount ask what another host has written
            kept = kept or self._refresh(raw)
        self._journal.cut_torn_tail()
        if raw == self._full_mark():
            return
        mark = parse_mark(raw)
        if mark is not None and mark.gen != self._journal.table.gen:
            self._journal.forget()
            self._journal.refresh()
            self._journal.cut_torn_tail()
        if mark is not None and self.is_cut(mark):
            mark = self._go_on_above(mark, hands)
            raw = render_mark(mark.gen, mark.seq)
        if raw != self._full_mark():
            self._redo(mark, kept, hands)

    def write_mark(self) -> None:
        """Say that every line is in all of its views."""
        write_mark(self._lock.fd, self._lock.path, self._journal.table.gen, self._journal.table.seq)

    def _full_mark(self) -> bytes:
        """Return the mark that says that every line is in all of its views."""
        return render_mark(self._journal.table.gen, self._journal.table.seq)

    def is_cut(self, mark: Mark | None) -> bool:
        """Tell whether lines are gone that were there in this boot: no kill does that, and no power loss."""
        return mark is not None and mark.seq > self._journal.table.seq and mark.of_this_boot

    def _go_on_above(self, mark: Mark, hands: MakeHands) -> Mark:
        """Put in place of a journal that was cut what it still says and what the files know beyond that.

        No number is used again, nor the one above the mark: its writer may have been killed before the mark.
        """
        table = self._journal.table
        last, table.gen, table.seq = table.seq, max(table.gen, mark.gen), mark.seq + 1
        fresh, lines = Mark(table.gen + 1, table.seq, mark.boot_id), [self._journal.snapshot()]

        def note(body: Body) -> None:
            line = stamp(body, table.seq + 1, format_time(self._clock.now()), self._by)
            table.apply(line)
            lines.append(render_line(line))

        try:
            self._events.emit("store_repaired", RUNTIME, cut_after=last, goes_on_after=fresh.seq)
            hands(note).take_over_lost(table, last)
        except BaseException:
            self._journal.forget()
            raise
        self.replace(b"".join(lines), fresh.gen, fresh.seq)
        return fresh

    def replace(self, content: bytes, gen: int, seq: int) -> None:
        """Put another journal in place of this one, of which views are written up to this number."""
        try:
            draft = self._journal.draft(content, sync=self._synced)
            write_mark(self._lock.fd, self._lock.path, gen, seq)
            self._journal.replace(draft, sync=self._synced)
        except BaseException:
            self._journal.forget()
            raise

    def _refresh(self, raw_mark: bytes) -> str | None:
        """Read on; after a power loss cut the journal at its first bad line, and return the rest's name."""
        try:
            self._journal.refresh()
        except CorruptStateError:
            if is_of_this_boot(parse_mark(raw_mark)):
                raise
            stamp = format_time(self._clock.now()).replace(":", "")
            kept = f"{self._layout.journal.removesuffix('.jsonl')}.damaged-{stamp}"
            if not self._journal.cut_damage(kept):
                raise
            return kept
        return None

    def _redo(self, mark: Mark | None, kept: str | None, hands: MakeHands) -> None:
        """Write again what the lines above the mark may lack; compare all when there is no mark to trust."""
        trusted = self._is_trusted(mark)
        replay = self._journal.replay(mark.seq if mark is not None and trusted else 0)
        table = self._journal.table
        touched = dict.fromkeys(task_id for step in replay.steps for task_id in step.touched)
        if not trusted:
            touched.update(dict.fromkeys(table.ids()))
        for task in filter(None, map(table.find, touched)):
            self._files.redo(task, replay)
        for task_id in touched:
            if table.find(task_id) is None:
                self._files.remove(task_id)
        self._files.sweep()
        self._record(replay, kept, told=trusted)
        self.write_mark()
        if not trusted:
            hands(None).judge(table, table.ids())
            hands(None).judge_unknown(table)

    def _is_trusted(self, mark: Mark | None) -> bool:
        """Tell whether all views up to the mark are written. A killed rewrite leaves it one ahead."""
        table = self._journal.table
        if mark is None or not mark.of_this_boot:
            return False
        return mark.gen in (table.gen, table.gen + 1) and mark.seq <= table.seq

    def _record(self, replay: Replay, kept: str | None, *, told: bool) -> None:
        """Write the events that are missing, and that something was mended."""
        recorded, last = self._events.last_task_seq(), self._journal.table.seq
        missing = [step for step in replay.steps if step.line["seq"] > recorded]
        self._events.append_all([event_of_line(step.line, step.before, step.after) for step in missing])
        lost = last if recorded > last else None
        rest = None if kept is None else os.path.basename(kept)
        if rest or lost is not None or (told and replay.steps):
            self._events.emit("store_repaired", RUNTIME, lines=len(replay.steps), last=lost, kept=rest)
