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
from swarm.storage.team import Team
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
