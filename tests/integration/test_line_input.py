"""Keys typed into a real terminal become lines; the terminal is a shell's again whenever a shell has it."""

from __future__ import annotations

import io
import json
import os
import pty
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from swarm.cli.line_input import LineInput, Typed
from swarm.testing.wait import wait_until
from tests.support import typing_child

pytestmark = pytest.mark.timeout(60)
_PATIENCE = 20.0


class Terminal:
    """A terminal with a shell of ours in it, and the program as the job that has its keyboard."""

    def __init__(self) -> None:
        self.keyboard, screen = pty.openpty()
        orders, self._orders = os.pipe()
        self._answers, answers = os.pipe()
        self._shell = subprocess.Popen(
            [sys.executable, typing_child.__file__, "shell", str(orders), str(answers)],
            stdin=screen,
            stdout=screen,
            stderr=screen,
            start_new_session=True,
            pass_fds=(orders, answers),
        )
        for end in (screen, orders, answers):
            os.close(end)
        self._answered = os.fdopen(self._answers)
        self.screen = ""
        self.shows("begun")
        wait_until(lambda: not self.ask("modes"), _PATIENCE, what="keys come one by one")

    def ask(self, order: str) -> Any:
        os.write(self._orders, f"{order}\n".encode())
        return json.loads(self._answered.readline())

    def type(self, keys: str | bytes) -> None:
        os.write(self.keyboard, keys if isinstance(keys, bytes) else keys.encode())

    def shows(self, text: str) -> None:
        def is_there() -> bool:
            while select.select([self.keyboard], [], [], 0)[0]:
                try:
                    self.screen += os.read(self.keyboard, 65536).decode().replace("\r\n", "\n")
                except OSError:
                    break
            return text in self.screen

        wait_until(is_there, _PATIENCE, what=f"{text!r} on the screen")

    def reaches(self, state: str) -> None:
        wait_until(lambda: self.ask("state") == state, _PATIENCE, what=f"the job is {state}")

    def is_a_shells(self) -> bool:
        """Whether lines are edited and echoed by the terminal itself."""
        return bool(self.ask("modes"))

    def close(self) -> None:
        os.write(self._orders, b"end\n")
        os.close(self._orders)
        self._shell.wait(_PATIENCE)
        self._answered.close()
        os.close(self.keyboard)


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    made = Terminal()
    yield made
    made.close()


def test_a_line_is_edited_unseen_and_handed_on_when_complete(terminal: Terminal) -> None:
    terminal.type("y 4")
    terminal.shows("text y 4\n")
    terminal.type("\x7f3 nein\x17")
    terminal.shows("text y 3 \n")
    terminal.type("ja\r")
    terminal.shows("line y 3 ja\n")
    terminal.type("\x1b[Ax\x15n 5\x1bOB\x1b\x1bOP\n")
    terminal.shows("line n 5\n")
    assert "y 4y 4" not in terminal.screen  # the terminal itself echoes nothing


def test_a_character_cut_in_the_middle_waits_for_its_rest(terminal: Terminal) -> None:
    whole = "n 3 größer 測\n".encode()
    for at in range(len(whole)):
        terminal.type(whole[at : at + 1])
    terminal.shows("line n 3 größer 測\n")


def test_many_pasted_lines_all_arrive_in_order(terminal: Terminal) -> None:
    for at in range(0, 1000, 50):
        terminal.type("".join(f"line {number:04}\n" for number in range(at, at + 50)))
        terminal.shows(f"line line {at + 49:04}\n")
    lines = [line for line in terminal.screen.split("\n") if line.startswith("line line")]
    assert lines == [f"line line {number:04}" for number in range(1000)]


@pytest.mark.parametrize(("last", "end"), [("quit", "exited 0"), ("raise", "exited 1")])
def test_the_terminal_is_as_before_when_it_is_over(terminal: Terminal, last: str, end: str) -> None:
    terminal.type(last + "\nls")
    terminal.reaches(end)
    assert terminal.is_a_shells()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_a_signal_that_ends_it_leaves_the_terminal_as_before(terminal: Terminal, number: int) -> None:
    terminal.ask(f"kill {number:d}")
    terminal.reaches(f"killed {number:d}")
    assert terminal.is_a_shells()


def test_ctrl_c_stays_an_interrupt(terminal: Terminal) -> None:
    terminal.type("abc\x03")
    terminal.shows("KeyboardInterrupt")
    wait_until(terminal.is_a_shells, _PATIENCE, what="the terminal is a shell's")


def test_ctrl_z_gives_the_terminal_back_and_fg_takes_it_again(terminal: Terminal) -> None:
    for nth in range(3):  # not only the first time
        terminal.type("half\x1a")
        terminal.reaches("stopped")
        assert terminal.is_a_shells()
        terminal.ask("fg")
        wait_until(lambda: not terminal.is_a_shells(), _PATIENCE, what="keys come one by one again")
        terminal.type(f"\x15y {nth}\n")
        terminal.shows(f"line y {nth}\n")


def test_in_the_background_nothing_is_read_and_nothing_stops(terminal: Terminal) -> None:
    """A read from there would stop the run, and what is typed is meant for the shell."""
    terminal.type("\x1a")
    terminal.reaches("stopped")
    terminal.ask("bg")
    terminal.type("ls\n")
    for _ in range(50):
        assert terminal.ask("state") == "running"
    assert terminal.is_a_shells()
    assert "line ls" not in terminal.screen
    terminal.ask("fg")
    terminal.type("y 1\n")
    terminal.shows("line y 1\n")


def test_ctrl_d_does_nothing(terminal: Terminal) -> None:
    terminal.type("\x04\x04y 3\x04\n")
    terminal.shows("line y 3\n")


def test_what_is_no_terminal_is_not_read() -> None:
    """What stands on a pipe is somebody's data, and no answer."""
    reading, writing = os.pipe()
    os.write(writing, b"y 3\n")
    with os.fdopen(reading) as source, LineInput(source) as keys:
        assert (keys.poll(), keys.text, keys.reads) == ((), "", False)
        assert source.readline() == "y 3\n"
    os.close(writing)
    with LineInput(io.StringIO("y 3\n")) as keys:
        assert keys.poll() == ()


def test_a_terminal_that_is_not_ours_is_not_read() -> None:
    keyboard, screen = pty.openpty()
    os.write(keyboard, b"y 3\n")
    with os.fdopen(screen) as source, LineInput(source) as keys:
        assert keys.poll() == ()
    os.close(keyboard)


def test_a_closed_stream_is_not_read() -> None:
    reading, writing = os.pipe()
    source = os.fdopen(reading)
    source.close()
    os.close(writing)
    with LineInput(source) as keys:
        assert keys.poll() == ()


def test_a_line_without_end_stays_bounded() -> None:
    typed = Typed()
    assert list(typed.feed(b"x" * 100_000)) == []
    assert len(typed.text) == 4096
    assert list(typed.feed(b"\x15ok\tgo\x01\n\n")) == ["ok go", ""]
