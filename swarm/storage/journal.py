"""The journal: one line for each operation, and the commit point of all of them.

A line holds all that is needed to do its operation again; task files and events are views that follow it.
Lines are only ever added, until a rewrite puts the tasks as they are in place of all of them. Reading needs
no lock: whole lines are final, what stands behind them is not.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

from swarm.core.fold import named_ids
from swarm.core.journal import parse_line, render_line
from swarm.core.table import TaskTable
from swarm.core.task import Task
from swarm.errors import (
    CorruptStateError,
    LostStateError,
    NotFoundError,
    StorageIOError,
    SwarmError,
    give_up,
)  # fmt: skip
from swarm.storage import files, network, syscalls
from swarm.storage.layout import TeamLayout

T = TypeVar("T")
_NOT_OPERATIONS = ("head", "snap")
_SNAP = b'{"op":"snap",'


class Replayed(NamedTuple):
    """One line that was folded again, with its task before and after it."""

    line: Mapping[str, Any]
    before: Task | None
    after: Task | None
    touched: tuple[str, ...]


class Replay:
    """What a replay saw: the lines above a number, and the tasks before and after each of them."""

    def __init__(self, above: int) -> None:
        self.above = above
        self.steps: list[Replayed] = []
        self._versions: dict[tuple[str, int], Task] = {}
        self._first: dict[str, Task] = {}

    def version(self, task_id: str, seq: int) -> Task | None:
        """Return a task as the line of this number left it; None when that was not seen.

        For 0, which stands in a file that another hand made, it is the first version that was seen.
        """
        return self._versions.get((task_id, seq)) if seq else self._first.get(task_id)

    def note(self, *tasks: Task | None) -> None:
        for task in filter(None, tasks):
            self._versions[task.id, task.seq] = task
            self._first.setdefault(task.id, task)


class Journal:
    """The open journal of one team and the table folded from it. Not safe for threads."""

    def __init__(self, layout: TeamLayout) -> None:
        self._layout = layout
        self._path = layout.journal
        self._fd: int | None = None
        self._file: tuple[int, int] | None = None
        self._offset = 0
        self._size = 0
        self._snaps = 0  # lines of the snapshot that are still to come
        self._known = False  # the table holds what the snapshot says already
        self.table = TaskTable(layout.team)

    def __del__(self) -> None:
        if self.__dict__.get("_fd") is not None:
            self.close()

    @property
    def size(self) -> int:
        return self._size

    def refresh(self) -> None:
        """Apply the lines that others wrote; fold from the start when the file is another or was cut."""
        try:
            self._refresh()
        except StorageIOError as error:
            if not network.is_stale(error):
                raise
            self.forget()  # another host has replaced it between two looks
            self._refresh()

    def _refresh(self) -> None:
        named = self._stat()
        self._size = named.st_size
        if self._fd is None or named.st_size < self._offset:
            self.forget()
            self._open()
        elif self._file != (named.st_dev, named.st_ino):
            self._change_over(self._fd)
        if self._size > self._offset:
            self._read_on_or_anew()
        if self._offset == 0 and self.table.seq:
            self._start_over()

    def forget(self) -> None:
        """Drop all that was read: the next refresh starts anew."""
        self.close()
        self._start_over()

    def replay(self, above: int) -> Replay:
        """Fold the whole journal again and return what the lines above this number did."""
        self.forget()
        self._open()
        replay = Replay(above)
        self._read_on(replay)
        return replay

    def cut_torn_tail(self) -> None:
        """Remove what a killed writer left behind the last whole line. Under the lock, after a refresh."""
        if self._size > self._offset:
            syscalls.truncate(self._descriptor, self._path, self._offset)
            self._size = self._offset

    def cut_damage(self, copy: str) -> bool:
        """Cut the journal at the line that a refresh has just failed at; the rest is kept as a file.

        False, and nothing done, for a damaged snapshot: no power loss explains that, and no line replaces it.
        """
        rest = syscalls.read_at(self._descriptor, self._path, self._size - self._offset, self._offset)
        if self._snaps or (self._offset == 0 and b"\n" + _SNAP in rest):
            return False
        files.write_draft(copy, rest, sync=True)
        self.cut_torn_tail()
        return True

    def append(self, raw: bytes) -> None:
        """Write one line, which the caller has applied to the table. Only under the lock, after a refresh."""
        syscalls.append(self._descriptor, self._path, raw)
        self._offset += len(raw)
        self._size = self._offset

    def draft(self, content: bytes, *, sync: bool) -> str:
        """Write beside the journal what shall take its place, and return where. Only under the lock."""
        draft = f"{self._path}.new"
        files.write_draft(draft, content, sync=sync)
        return draft

    def snapshot(self) -> bytes:
        return b"".join(map(render_line, self.table.snapshot()))

    def replace(self, draft: str, *, sync: bool) -> None:
        """Put the rewritten journal in place of this one."""
        syscalls.rename(draft, self._path)
        if sync:
            files.sync_file(self._layout.tasks_dir)
        self.refresh()

    def sync(self) -> None:
        """Wait until all lines so far would survive a power loss."""
        syscalls.sync_data(self._descriptor, self._path)

    def change_mark(self) -> tuple[int, int]:
        """Return what changes whenever a line is added, be it from another host; cheap."""
        named = self._find(lambda: network.find_stat_anew(self._path))
        return named.st_ino, named.st_size

    def close(self) -> None:
        if self._fd is not None:
            fd, self._fd = self._fd, None
            syscalls.close(fd)

    @property
    def _descriptor(self) -> int:
        return self._open() if self._fd is None else self._fd

    def _open(self) -> int:
        fd = self._fd = self._find(lambda: syscalls.find_file(self._path, os.O_RDWR | os.O_APPEND))
        state = syscalls.stat_file(fd, self._path)
        self._file = (state.st_dev, state.st_ino)
        self._size = state.st_size  # of this very file: what the path named a moment ago may be another
        return fd

    def _start_over(self) -> None:
        self._offset = 0
        self._snaps, self._known = 0, False
        self.table = TaskTable(self._layout.team)

    def _change_over(self, old: int) -> None:
        """Read the replaced file to its end, then go on in the one that the path names now.

        The old one stays open until then, so that the new one cannot have its number.
        """
        try:
            self._size = syscalls.stat_file(old, self._path).st_size
            if self._size > self._offset:
                self._read_on()
        except (CorruptStateError, StorageIOError):
            self._start_over()
        self._fd = None
        try:
            self._open()
        finally:
            syscalls.close(old)
        self._offset = 0

    def _stat(self) -> os.stat_result:
        return syscalls.find_stat(self._path) or self._find(lambda: syscalls.find_stat(self._path))

    def _find(self, find: Callable[[], T | None]) -> T:
        """Return what is found of the journal, which ought to be there unless the whole team has gone."""
        found = find()
        if found is None and syscalls.find_stat(self._layout.team_dir) is not None:
            found = network.look_again(find)
        if found is None:
            raise self.missing()
        return found

    def missing(self) -> SwarmError:
        """Return the error for a journal that is not there: the team was deleted, or is damaged."""
        team = self._layout.team
        if syscalls.find_stat(self._layout.config) is not None:
            if syscalls.find_stat(self._layout.tasks_dir) is None:
                advice = f"put a copy of it back, or {give_up(team)}"
                return LostStateError(f"the task list of team {team}", self._layout.tasks_dir, advice)
            advice = "swarm doctor --fix makes it anew from the task files"
            return LostStateError(f"the journal of team {team}'s tasks", self._path, advice)
        return NotFoundError(
            f"no team {team}: it was deleted", code="no_such_team", details={"value": team, "valid": []}
        )

    def _read_on_or_anew(self) -> None:
        """Read on; where that makes no sense, somebody may have put other lines into the same file."""
        begun = self._offset
        try:
            self._read_on()
        except CorruptStateError:
            if not begun:
                raise
            self._start_over()
            self._read_on()

    def _read_on(self, replay: Replay | None = None) -> None:
        data = syscalls.read_at(self._descriptor, self._path, self._size - self._offset, self._offset)
        for raw in data[: data.rfind(b"\n") + 1].splitlines(keepends=True):
            if not (self._snaps and self._known):
                self._apply(raw, replay)
            self._snaps = max(0, self._snaps - 1)
            self._offset += len(raw)
        if self._snaps:
            raise CorruptStateError(self._path, f"its snapshot is cut at byte {self._offset}")

    def _apply(self, raw: bytes, replay: Replay | None) -> None:
        try:
            line = parse_line(raw)
            if self._offset == 0:
                self._begin(line)
            elif line["op"] == "head" or (self._snaps and line["op"] != "snap"):
                raise ValueError(f"no place for a line of {line['op']}")
            if replay is None:
                self.table.apply(line, raw)
            else:
                self._apply_again(line, replay)
        except (ValueError, KeyError, RecursionError) as error:
            advice = "" if self._snaps else "swarm doctor --fix cuts it there"  # no snapshot can be cut
            raise CorruptStateError(self._path, f"line at byte {self._offset}: {error}", advice) from error

    def _begin(self, first: Mapping[str, Any]) -> None:
        """Start on a journal: whether its snapshot has to be read depends on where the table stands."""
        head = first if first["op"] == "head" else None
        self._known = head is not None and self.table.goes_on_in(head)
        self._snaps = head.get("tasks", 0) + 1 if head is not None else 0
        if not self._known:
            self.table = TaskTable(self._layout.team)

    def _apply_again(self, line: Mapping[str, Any], replay: Replay) -> None:
        wanted = line["op"] not in _NOT_OPERATIONS and line["seq"] > replay.above
        named = named_ids(line) if wanted else ()
        before = tuple(map(self.table.find, named))
        touched = self.table.apply(line)
        if wanted:
            replay.note(*before, *map(self.table.find, touched))
            replay.steps.append(Replayed(line, before[0], self.table.find(named[0]), touched))
        elif line["op"] == "snap":
            replay.note(*map(self.table.find, touched))
