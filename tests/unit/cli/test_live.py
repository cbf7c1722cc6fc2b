"""The live view on a terminal: it draws, it gives the terminal back, and nothing that it meets ends a run."""

from __future__ import annotations

import fcntl
import io as text_io
import os
import pty
import struct
import termios
from collections.abc import Iterator
from contextlib import suppress

import pyte
import pytest

from swarm.cli.live import LiveView
from swarm.cli.session import Io
from swarm.errors import StateError
from swarm.leader.questions import answer
from swarm.storage.questions import NOBODY_ANSWERED, expire
from swarm.storage.team import Team
from tests.support.questions import ask
from tests.unit.cli.conftest import Swarm
from tests.unit.cli.steps import a_record, add, claimed


class Watched:
    """A terminal of 80x24 that a view draws on, from a process of which it is not the own one."""

    def __init__(self) -> None:
        self.person, program = pty.openpty()
        os.set_blocking(self.person, False)
        fcntl.ioctl(program, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.err = open(program, "w", encoding="utf-8")  # noqa: SIM115 - closed by the fixture
        environ = {"TERM": "xterm-256color"}
        self.io = Io(text_io.StringIO(), self.err, text_io.StringIO(), environ)
        self.screen = pyte.Screen(80, 24)
        self.stream = pyte.ByteStream(self.screen)
        self.written = b""

    def text(self) -> str:
        with suppress(BlockingIOError):
            while data := os.read(self.person, 65536):
                self.written += data
                self.stream.feed(data)
        return "\n".join(line.rstrip() for line in self.screen.display)


@pytest.fixture
def watched() -> Iterator[Watched]:
    made = Watched()
    yield made
    with suppress(OSError):
        made.err.close()
    with suppress(OSError):
        os.close(made.person)


def test_it_draws_the_team_and_gives_the_terminal_back(demo: Swarm, team: Team, watched: Watched) -> None:
    add(demo, "first \x1b[31m 測試")
    add(demo, "second", "--blocked-by", "1")
    claimed(demo, "1", "w1")
    team.agents.save(a_record("w1", task="1"))
    with LiveView(team, watched.io) as view:
        view.look()
        text = watched.text()
        assert text.startswith(" swarm  demo  0/2 done  00:00")
        assert " ●  1  first \\x1b[31m 測" in text
        assert "waits for 1" in text
        assert " w1  task 1" in text

    watched.text()
    assert watched.written.startswith(b"\x1b[?1049h")
    assert watched.written.endswith(b"\x1b[?1049l")
    assert b"\x1b[31m \xe6" not in watched.written


def test_what_is_noted_meanwhile_is_shown_and_printed_afterwards(team: Team, watched: Watched) -> None:
    with LiveView(team, watched.io) as view:
        watched.io.note("w1: it does not start")
        view._next = 0.0
        view.look()
        assert "w1: it does not start" in watched.text()
        assert b"start\r\n" not in watched.written
    watched.text()

    assert watched.written.endswith(b"\x1b[?1049lw1: it does not start\r\n")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (StateError("the roster is damaged", code="corrupt_state"), "the roster is damaged"),
        (KeyError("x"), "bug in the live view: KeyError"),
    ],
)
def test_what_cannot_be_read_is_said_and_ends_nothing(
    demo: Swarm, team: Team, watched: Watched, monkeypatch: pytest.MonkeyPatch, error: Exception, said: str
) -> None:
    add(demo, "first")

    def fail(*_ignored: object) -> None:
        raise error

    with LiveView(team, watched.io) as view:
        view.look()
        monkeypatch.setattr("swarm.cli.sight.Looker.look", fail)
        for _ in range(2):
            view._next = 0.0
            view.look()
        monkeypatch.undo()
        view._next = 0.0
        view.look()
        text = watched.text()
    assert said in text
    assert "first" in text


def test_a_terminal_that_was_closed_is_no_error(team: Team, watched: Watched) -> None:
    with LiveView(team, watched.io) as view:
        os.close(watched.person)
        view._next = 0.0
        view.look()


class Keyboard:
    """What somebody types; a line is handed on when it is complete."""

    reads = True

    def __init__(self, view: LiveView) -> None:
        self.text = ""
        self._lines: list[str] = []
        self._view = view
        view._input = self  # type: ignore[assignment]

    def poll(self) -> tuple[str, ...]:
        lines, self._lines = tuple(self._lines), []
        if lines:
            self.text = ""
        return lines

    def type(self, text: str) -> None:
        self.text += text
        self.look()

    def enter(self) -> None:
        self._lines.append(self.text)
        self.look()

    def look(self) -> None:
        self._view._next = 0.0
        self._view.look()


def test_a_number_shows_that_question_in_full_and_the_hint_is_about_it(team: Team, watched: Watched) -> None:
    ask(team, "pip install one")
    ask(team, "pip install two")
    with LiveView(team, watched.io) as view:
        keyboard = Keyboard(view)
        keyboard.look()
        assert "│ $ pip install one" in watched.text()
        keyboard.type("2")
        keyboard.enter()
        text = watched.text()
        assert "│ $ pip install two" in text
        assert "#1 w1 (task 7) wants Bash: pip install one" in text
        assert ">   y 2 = yes · n 2 WHY = no · a 2 = always · Enter = back · ? = help" in text
        keyboard.enter()
        assert "│ $ pip install one" in watched.text()


def test_what_was_typed_for_one_question_does_not_answer_another(team: Team, watched: Watched) -> None:
    first = ask(team, "ls")
    with LiveView(team, watched.io) as view:
        keyboard = Keyboard(view)
        keyboard.look()
        keyboard.type("y")
        answer(team, "1", "deny")
        second = ask(team, "rm -r /srv")
        keyboard.look()
        keyboard.enter()
        text = watched.text()

    assert "the questions changed while you typed. Look at #2, then type y 2" in " ".join(text.split())
    assert team.permissions.resolution(first.id) is not None
    assert team.permissions.resolution(second.id) is None


def test_a_complaint_about_a_line_goes_when_the_next_question_comes(team: Team, watched: Watched) -> None:
    with LiveView(team, watched.io) as view:
        keyboard = Keyboard(view)
        keyboard.type("y")
        keyboard.enter()
        assert "No question is open." in watched.text()
        ask(team)
        keyboard.look()
        assert "No question is open." not in watched.text()


def test_it_is_said_that_nobody_answered_in_time(team: Team, watched: Watched) -> None:
    asked = ask(team)
    with LiveView(team, watched.io) as view:
        keyboard = Keyboard(view)
        keyboard.look()
        expire(team, asked, NOBODY_ANSWERED)
        keyboard.look()
        assert "#1: nobody answered in time, so it was denied" in watched.text()


def test_who_was_not_answered_in_time_is_told_although_the_call_is_asked_for_again(
    team: Team, watched: Watched
) -> None:
    both = ask(team, "make"), ask(team, "ls")
    with LiveView(team, watched.io) as view:
        keyboard = Keyboard(view)
        keyboard.look()
        for asked in both:
            expire(team, asked, NOBODY_ANSWERED)
            keyboard.look()
        ask(team, "make")
        keyboard.look()
        text = watched.text()

    assert "#1 and #2: nobody answered in time, so they were denied" in text
    assert "#3 w1 (task 7) wants Bash" in text
