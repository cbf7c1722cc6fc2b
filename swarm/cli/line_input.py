"""What a person types while a view redraws: taken key by key, handed on line by line, never waited for.

Only a terminal is read, and only while we are in its foreground: a read from the background would stop the
run. Its modes are changed for that long, and put back whenever the person may get to see a shell again.
"""

from __future__ import annotations

import codecs
import os
import select
import signal
import termios
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, Self, TextIO, TypeAlias

_MAX_CHARS = 4096
_READ_BYTES = 4096
_READS = 16  # of one look: what is left waits for the next
_EMPTY_READS = 3  # as many in a row from a terminal that is said to have input: it has hung up
_LOCAL_FLAGS, _SPECIAL_KEYS = 3, 6
_ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
_ERASE, _KILL, _WORD, _ESCAPE = frozenset("\x7f\x08"), "\x15", "\x17", "\x1b"

_Handler: TypeAlias = Callable[[int, FrameType | None], Any] | int | None


class Typed:
    """A line that is being typed. Keys that are no text edit it, or do nothing."""

    def __init__(self) -> None:
        self.text = ""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._escape = ""

    def feed(self, data: bytes) -> Iterator[str]:
        """Yield the lines that are complete; a character that was cut waits for its rest."""
        for key in self._decoder.decode(data):
            if self._escape:
                self._escape = _escape_after(self._escape, key)
            elif key in "\r\n":
                line, self.text = self.text, ""
                yield line
            else:
                self._press(key)

    def _press(self, key: str) -> None:
        if key in _ERASE:
            self.text = self.text[:-1]
        elif key == _KILL:
            self.text = ""
        elif key == _WORD:
            self.text = self.text.rstrip().rpartition(" ")[0]
            self.text += " " if self.text else ""
        elif key == _ESCAPE:
            self._escape = key
        elif key.isprintable() or key == "\u3000":
            self.text = (self.text + key)[:_MAX_CHARS]
        elif key == "\t":
            self.text = (self.text + " ")[:_MAX_CHARS]


def _escape_after(escape: str, key: str) -> str:
    """Return what is open of a key's sequence after one more character; arrows type nothing."""
    if key == _ESCAPE:
        return key
    if escape == _ESCAPE:
        return escape + key if key in "[O" else ""
    return "" if escape.endswith("O") or "@" <= key <= "~" else escape


class LineInput:
    """The keyboard, as long as the block runs. Not a terminal, or one that has hung up: nobody types.

    `text` is what has been typed of the next line. Ctrl-C and Ctrl-Z stay signals. Pasted lines are lines.
    """

    def __init__(self, stdin: TextIO) -> None:
        self._typed = Typed()
        self._saved: list[Any] | None = None
        self._handlers: dict[int, tuple[_Handler, _Handler]] = {}
        self._empty = 0
        self._fd = _terminal(stdin)

    @property
    def text(self) -> str:
        return self._typed.text

    @property
    def reads(self) -> bool:
        """Whether what somebody types arrives here."""
        return self._fd is not None and self._in_foreground()

    def __enter__(self) -> Self:
        if self._fd is not None:
            self._heed()
            if self._in_foreground():
                self._take_over()
                termios.tcflush(self._fd, termios.TCIFLUSH)  # what was typed before was no answer
        return self

    def __exit__(self, *exc: object) -> None:
        if self._saved is not None and self._fd is not None and self._in_foreground():
            with suppress(termios.error):
                termios.tcflush(self._fd, termios.TCIFLUSH)  # half an answer is no command for a shell
        self._give_back()
        for number, (ours, before) in self._handlers.items():
            if signal.getsignal(number) is ours:
                signal.signal(number, before)
        self._handlers.clear()

    def poll(self) -> tuple[str, ...]:
        """Return the lines that were completed since the last look."""
        lines: list[str] = []
        fd = self._fd
        if fd is None or not self._in_foreground():
            return ()
        try:
            self._take_over()
            for _ in range(_READS):
                if not select.select([fd], [], [], 0)[0]:
                    break
                data = os.read(fd, _READ_BYTES)
                self._empty = 0 if data else self._empty + 1
                lines += self._typed.feed(data)
        except (OSError, ValueError, termios.error):
            self._fd = None
        if self._empty >= _EMPTY_READS:
            self._fd = None
        return tuple(lines)

    def _in_foreground(self) -> bool:
        try:
            return self._fd is not None and os.tcgetpgrp(self._fd) == os.getpgrp()
        except OSError:
            return False

    def _take_over(self) -> None:
        """Let keys come one by one and unseen, unless they do; a shell may have changed that meanwhile."""
        if self._fd is None:
            return
        modes = termios.tcgetattr(self._fd)
        if not modes[_LOCAL_FLAGS] & (termios.ICANON | termios.ECHO):
            return
        self._saved = termios.tcgetattr(self._fd)
        modes[_LOCAL_FLAGS] &= ~(termios.ICANON | termios.ECHO)
        modes[_SPECIAL_KEYS][termios.VMIN] = 0  # another may have read what there was: do not wait for more
        modes[_SPECIAL_KEYS][termios.VTIME] = 0
        with _not_stopped():
            termios.tcsetattr(self._fd, termios.TCSANOW, modes)

    def _give_back(self) -> None:
        """Put the terminal's modes back; what belongs to another by now is left alone."""
        saved, self._saved = self._saved, None
        if saved is None or self._fd is None or not self._in_foreground():
            return
        with suppress(termios.error), _not_stopped():
            termios.tcsetattr(self._fd, termios.TCSANOW, saved)

    def _heed(self) -> None:
        """Have the modes put back before a signal stops or ends us, where nobody else heeds it."""
        if threading.current_thread() is not threading.main_thread():
            return
        for number in (signal.SIGTSTP, *_ENDING):
            before = signal.getsignal(number)
            if before is signal.SIG_DFL:
                ours = self._before_stop if number == signal.SIGTSTP else self._before_end
                signal.signal(number, ours)
                self._handlers[number] = (ours, before)

    def _before_stop(self, number: int, _frame: FrameType | None) -> None:
        """Stop, as the signal asks; the next look takes the terminal over again."""
        self._give_back()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
        signal.signal(number, self._handlers[number][0])

    def _before_end(self, number: int, _frame: FrameType | None) -> None:
        self._give_back()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)


def drop_typed(stdin: TextIO) -> None:
    """Forget what was typed and never read: what was meant as an answer is no command for a shell."""
    fd = _terminal(stdin)
    with suppress(OSError, termios.error):
        if fd is not None and os.tcgetpgrp(fd) == os.getpgrp():
            termios.tcflush(fd, termios.TCIFLUSH)


def _terminal(stdin: TextIO) -> int | None:
    """Return the descriptor of a terminal, None for anything else."""
    try:
        return stdin.fileno() if stdin.isatty() else None
    except (OSError, ValueError):
        return None


@contextmanager
def _not_stopped() -> Iterator[None]:
    """Hold back the signal that stops who changes a terminal from its background."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTTOU})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
