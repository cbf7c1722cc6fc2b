"""The journal: one line for each operation, and the commit point of all of them.

A line holds all that is needed to do its operation again; task files and events are views that follow it.
Lines are only ever added. Reading needs no lock: whole lines are final, what stands behind them is not.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

from swarm.core.journal import parse_line
from swarm.core.table import TaskTable
from swarm.core.task import Task
from swarm.errors import CorruptStateError, NotFoundError, SwarmError
from swarm.storage import syscalls
from swarm.storage.layout import TeamLayout

_NOT_OPERATIONS = ("head", "snap")


class Replayed(NamedTuple):
    """One line that was folded again, with its task before and after it."""

    line: Mapping[str, Any]
    before: Task | None
    after: Task | None
    touched: tuple[str, ...]


class Journal:
    """The open journal of one team and the table folded from it. Not safe for threads."""

    def __init__(self, layout: TeamLayout) -> None:
        self._layout = layout
        self._path = layout.journal
        self._fd: int | None = None
        self._file: tuple[int, int] | None = None
        self._offset = 0
        self._size = 0
        self.table = TaskTable(layout.team)

    def __del__(self) -> None:
        if self.__dict__.get("_fd") is not None:
            self.close()

    def refresh(self) -> None:
        """Apply the lines that others wrote; fold from the start when the file is another or was cut."""
        named = self._stat()
        if self._fd is None or self._file != (named.st_dev, named.st_ino) or named.st_size < self._offset:
            self.forget()
            self._open()
        self._size = named.st_size
        if self._size > self._offset:
            self._read_on()

    def forget(self) -> None:
        """Drop all that was read: the next refresh starts anew."""
        self.close()
        self._offset = 0
        self.table = TaskTable(self._layout.team)

    def replay(self, above: int) -> list[Replayed]:
        """Fold the whole journal again and return the lines whose number is above this one."""
        self.forget()
        self._open()
        replayed: list[Replayed] = []
        self._size = self._stat().st_size
        self._read_on(above, replayed)
        return replayed

    def cut_torn_tail(self) -> None:
        """Remove what a killed writer left behind the last whole line. Under the lock, after a refresh."""
        if self._size > self._offset:
            syscalls.truncate(self._descriptor, self._path, self._offset)
            self._size = self._offset

    def append(self, raw: bytes) -> None:
        """Write one line, which the caller has applied to the table. Only under the lock, after a refresh."""
        syscalls.append(self._descriptor, self._path, raw)
        self._offset += len(raw)
        self._size = self._offset

    def sync(self) -> None:
        """Wait until all lines so far would survive a power loss."""
        syscalls.sync_data(self._descriptor, self._path)

    def change_mark(self) -> tuple[int, int]:
        """Return what changes whenever a line is added; cheap, and needs no open file."""
        named = self._stat()
        return named.st_ino, named.st_size

    def close(self) -> None:
        if self._fd is not None:
            fd, self._fd = self._fd, None
            syscalls.close(fd)

    @property
    def _descriptor(self) -> int:
        return self._open() if self._fd is None else self._fd

    def _open(self) -> int:
        fd = self._fd = syscalls.find_file(self._path, os.O_RDWR | os.O_APPEND)
        if fd is None:
            raise self.missing()
        state = syscalls.stat_file(fd, self._path)
        self._file = (state.st_dev, state.st_ino)
        return fd

    def _stat(self) -> os.stat_result:
        found = syscalls.find_stat(self._path)
        if found is None:
            raise self.missing()
        return found

    def missing(self) -> SwarmError:
        """Return the error for a journal that is not there: the team was deleted, or is damaged."""
        if syscalls.find_stat(self._layout.config) is not None:
            return CorruptStateError(self._path, "it is missing")
        team = self._layout.team
        return NotFoundError(
            f"no team {team}: it was deleted", code="no_such_team", details={"value": team, "valid": []}
        )

    def _read_on(self, above: int = 0, replayed: list[Replayed] | None = None) -> None:
        data = syscalls.read_at(self._descriptor, self._path, self._size - self._offset, self._offset)
        for raw in data[: data.rfind(b"\n") + 1].splitlines(keepends=True):
            step = self._apply(raw, wanted=replayed is not None)
            self._offset += len(raw)
            if replayed is not None and step is not None and _number(step.line) > above:
                replayed.append(step)

    def _apply(self, raw: bytes, *, wanted: bool) -> Replayed | None:
        try:
            line = parse_line(raw)
            task_id = line.get("id") or line.get("b") or ""
            before = self.table.find(task_id) if wanted else None
            touched = self.table.apply(line)
        except (ValueError, RecursionError) as error:
            raise CorruptStateError(self._path, f"line at byte {self._offset}: {error}") from error
        return Replayed(line, before, self.table.find(task_id), touched) if wanted else None


def _number(line: Mapping[str, Any]) -> int:
    """Return a line's number; the lines that start a rewritten journal are no operations and have none."""
    number = 0 if line["op"] in _NOT_OPERATIONS else line["seq"]
    return int(number)
