"""The whole terminal, drawn over in place; what stood there before comes back at the end."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TextIO

_BEGIN = "\x1b[?1049h\x1b[?7l\x1b[H\x1b[2J\x1b[?25l"
_END = "\x1b[?25h\x1b[?7h\x1b[2J\x1b[H\x1b[?1049l"
_USUAL_SIZE = (80, 24)
_STOPPING = (signal.SIGTSTP, signal.SIGQUIT)


class Screen:
    """Writes only the rows that differ; after a change of size all of them, on a cleared screen.

    Fails like a write to the stream does.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._rows: list[str] = []
        self._size = (0, 0)
        self._cursor: tuple[int, int] | None = None
        self._is_on = False

    @property
    def size(self) -> tuple[int, int]:
        """Columns and rows as they are now."""
        try:
            columns, rows = os.get_terminal_size(self._stream.fileno())
        except (OSError, ValueError):
            return _USUAL_SIZE
        return (columns, rows) if columns and rows else _USUAL_SIZE

    def is_ours(self) -> bool:
        """Whether we run in the foreground of this terminal, and may draw on it."""
        try:
            return os.tcgetpgrp(self._stream.fileno()) == os.getpgrp()
        except (OSError, ValueError):  # no terminal that runs jobs
            return True

    def begin(self) -> None:
        """Take the terminal; the next frame is drawn in full."""
        self._rows, self._size, self._cursor, self._is_on = [], (0, 0), None, True
        self._write(_BEGIN)

    def end(self) -> None:
        """Give the terminal back as it was."""
        if self._is_on:
            self._is_on = False
            self._write(_END)

    def show(self, rows: Sequence[str], size: tuple[int, int], cursor: tuple[int, int] | None = None) -> None:
        """Draw these rows, made for this size, with the cursor at a row and column, or without one.

        A terminal that was given back is taken again.
        """
        if not self._is_on:
            self.begin()
        parts: list[str] = []
        if size != self._size:
            parts.append("\x1b[2J")
            self._rows, self._size = [], size
        before = self._rows
        for at in range(max(len(rows), len(before))):
            row = rows[at] if at < len(rows) else ""
            if at >= len(before) or before[at] != row:
                parts.append(f"\x1b[{at + 1};1H\x1b[2K{row}")
        if parts or cursor != self._cursor:
            parts.append("\x1b[?25l" if cursor is None else f"\x1b[{cursor[0] + 1};{cursor[1] + 1}H\x1b[?25h")
            self._write("".join(parts))
        self._rows, self._cursor = list(rows), cursor

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()


@contextmanager
def given_back_on_stop(screen: Screen) -> Iterator[None]:
    """Give the terminal back before Ctrl-Z, or SIGQUIT, takes effect; the next frame takes it again."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {int(number): signal.getsignal(number) for number in _STOPPING}

    def stop(number: int, frame: FrameType | None) -> None:
        with suppress(OSError, RuntimeError):  # the signal came amid a write, or nobody looks any more
            screen.end()
        usual = before[number]
        if callable(usual):
            usual(number, frame)
        elif usual is signal.SIG_DFL:
            signal.signal(number, usual)
            signal.raise_signal(number)
        signal.signal(number, stop)

    for number in before:
        signal.signal(number, stop)
    try:
        yield
    finally:
        for number, usual in before.items():
            signal.signal(number, usual)
