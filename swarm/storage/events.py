"""The audit log of a team: one line for each thing that happened, in the order in which it was written."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from typing import Any

from swarm.core.event import Event, parse_event_line, render_event_line
from swarm.core.ports import Clock
from swarm.core.times import format_time
from swarm.settings import Settings
from swarm.storage import files, syscalls
from swarm.storage.layout import TeamLayout
from swarm.storage.lock import FileLock

_TASK_EVENT = "task_"
_ID = re.compile(r"[1-9][0-9]{0,8}", re.ASCII)


class EventLog:
    """Append-only; a line's byte offset is its position. Its lock is the last in the order of locks.

    The file stays open between two lines, as long as its path leads to it.
    """

    def __init__(
        self, layout: TeamLayout, settings: Settings, clock: Clock, holder_name: str = "swarm"
    ) -> None:
        self._path = layout.events
        self._clock = clock
        self._lock = FileLock(layout.lock("events"), settings, clock, holder_name)
        self._fd: int | None = None
        self._file: tuple[int, int] | None = None

    def __del__(self) -> None:
        if self.__dict__.get("_fd") is not None:
            self.close()

    def close(self) -> None:
        """Close the file; the next line opens it again."""
        if self._fd is not None:
            fd, self._fd = self._fd, None
            syscalls.close(fd)

    def append(self, event: Event) -> None:
        self.append_all((event,))

    def append_all(self, events: Iterable[Event]) -> None:
        """Append these lines in one go; a torn line of a killed writer is cut first."""
        lines = [render_event_line(event) for event in events]
        if lines:
            with self._lock:
                fd, size = self._open()
                files.cut_torn_tail(fd, self._path, size)
                syscalls.append(fd, self._path, b"".join(lines))

    def emit(
        self, kind: str, agent: str, *, run_id: str | None = None, task: str | None = None,
        seq: int | None = None, **data: Any,
    ) -> None:  # fmt: skip
        """Append an event of this moment; facts that are None are left out."""
        facts = {key: value for key, value in data.items() if value is not None}
        at = format_time(self._clock.now())
        self.append(Event(time=at, event=kind, agent=agent, run_id=run_id, task=task, seq=seq, data=facts))

    def read(self, offset: int = 0) -> Iterator[tuple[int, Event]]:
        """Yield each event from this position on with its offset; lines that do not parse are skipped."""
        for position, line in files.read_lines(self._path, offset):
            event = _parse(line)
            if event is not None:
                yield position, event

    def _open(self) -> tuple[int, int]:
        """Return the open file that the path leads to now, and its size."""
        state = syscalls.find_stat(self._path)
        if self._fd is None or state is None or _identity(state) != self._file:
            self.close()
            self._fd = syscalls.create_file(self._path, os.O_RDWR | os.O_APPEND)
            state = syscalls.stat_file(self._fd, self._path)
            self._file = _identity(state)
        return self._fd, state.st_size

    def highest_task(self) -> int:
        """Return the highest number of a task that an event tells of; 0 when there is none."""
        tasks = (event.task or "" for _, event in self.read())
        return max((int(task) for task in tasks if _ID.fullmatch(task)), default=0)

    def last_task_seq(self) -> int:
        """Return the journal line of the newest `task_*` event; 0 when there is none.

        A repair says so when the journal has lost lines: their numbers are given out again.
        """
        for line in files.read_lines_backwards(self._path):
            event = _parse(line)
            if event is not None and event.event == "store_repaired" and "last" in event.data:
                return int(event.data["last"])
            if event is not None and event.seq is not None and event.event.startswith(_TASK_EVENT):
                return event.seq
        return 0


def _identity(state: os.stat_result) -> tuple[int, int]:
    return state.st_ino, state.st_dev


def _parse(line: bytes) -> Event | None:
    try:
        return parse_event_line(line)
    except (ValueError, RecursionError):
        return None
