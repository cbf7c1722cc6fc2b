"""A terminal with a program in it: what it shows can be read, keys can be pressed, its size can change."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Self

import pyte

_READ_SECONDS = 0.05
_LOCAL_FLAGS = 3


class Terminal:
    """Starts the command in a session of its own, whose terminal this is. Use as a context manager."""

    def __init__(
        self,
        command: Sequence[str],
        environ: Mapping[str, str],
        cwd: str,
        *,
        columns: int = 80,
        rows: int = 24,
    ) -> None:
        self.screen = pyte.Screen(columns, rows)
        self.written = b""
        self.code: int | None = None
        self._stream = pyte.ByteStream(self.screen)
        self.pid, self._fd = pty.fork()
        if self.pid == 0:
            os.chdir(cwd)
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
            os.execvpe(command[0], list(command), dict(environ))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        if self.code is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self._fd)

    @property
    def lines(self) -> list[str]:
        """What is shown now, without blanks at the ends of lines."""
        return [line.rstrip() for line in self.screen.display]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    def press(self, keys: str) -> None:
        os.write(self._fd, keys.encode())

    def resize(self, columns: int, rows: int) -> None:
        """Change the size, as a window does: what stands there stays, cut."""
        self.screen.resize(rows, columns)
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def echoes(self) -> bool:
        """Whether what is typed is shown by the terminal itself, as a shell wants it."""
        return bool(termios.tcgetattr(self._fd)[_LOCAL_FLAGS] & termios.ECHO)

    def look(self, seconds: float = _READ_SECONDS) -> None:
        """Take in what is written in this time."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            if select.select([self._fd], [], [], left)[0]:
                try:
                    data = os.read(self._fd, 65536)
                except OSError:  # nobody has the other end open
                    return
                self.written += data
                self._stream.feed(data)

    def wait_for(self, shows: Callable[[str], bool] | str, seconds: float = 30.0) -> str:
        """Look on until the screen shows this, and return what it shows; fail when it never does."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self.look()
            if shows in self.text if isinstance(shows, str) else shows(self.text):
                return self.text
        raise AssertionError(f"never shown: {shows!r}; the screen is:\n{self.text}")

    def wait_for_end(self, seconds: float = 30.0) -> int:
        """Look on until the program has ended, and return its exit code."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self.look()
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.code = os.waitstatus_to_exitcode(status)
                self.look()
                return self.code
        raise AssertionError(f"it has not ended; the screen is:\n{self.text}")
