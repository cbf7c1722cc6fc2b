"""The terminal as it is drawn over: only what differs is written, and all of it is given back."""

from __future__ import annotations

import fcntl
import io
import os
import pty
import struct
import termios

import pyte
import pytest

from swarm.cli.screen import Screen


class Written(io.StringIO):
    """What was written since it was last taken, and what a terminal of 20x5 makes of it."""

    def __init__(self) -> None:
        super().__init__()
        self.screen = pyte.Screen(20, 5)
        self._stream = pyte.Stream(self.screen)

    def take(self) -> str:
        text = self.getvalue()
        self.seek(0)
        self.truncate()
        self._stream.feed(text)
        return text

    @property
    def lines(self) -> list[str]:
        return [line.rstrip() for line in self.screen.display]


SIZE = (20, 5)


def test_rows_are_drawn_and_only_what_differs_is_drawn_again() -> None:
    out = Written()
    screen = Screen(out)
    screen.show(["one", "\x1b[31mtwo\x1b[0m", "three"], SIZE, (2, 5))
    out.take()
    assert out.lines == ["one", "two", "three", "", ""]
    assert (out.screen.cursor.y, out.screen.cursor.x, out.screen.cursor.hidden) == (2, 5, False)

    screen.show(["one", "2", "three"], SIZE, (2, 5))
    text = out.take()
    assert "one" not in text
    assert out.lines == ["one", "2", "three", "", ""]
    screen.show(["one", "2", "three"], SIZE, (2, 5))
    assert out.take() == ""

    screen.show(["one"], SIZE)
    out.take()
    assert out.lines == ["one", "", "", "", ""]
    assert out.screen.cursor.hidden


def test_a_full_row_in_the_last_column_stays_whole() -> None:
    out = Written()
    screen = Screen(out)
    screen.show(["x" * 20] * 5, SIZE)
    screen.show(["x" * 19 + "y"] * 5, SIZE)
    out.take()

    assert out.lines == ["x" * 19 + "y"] * 5


def test_another_size_is_drawn_on_a_cleared_screen() -> None:
    out = Written()
    screen = Screen(out)
    screen.show(["a long first row", "b"], SIZE)
    out.take()
    out.screen.resize(5, 10)
    screen.show(["a", "b"], (10, 5))
    text = out.take()

    assert "\x1b[2J" in text
    assert out.lines == ["a", "b", "", "", ""]


def test_what_was_given_back_is_taken_again_by_the_next_frame() -> None:
    out = Written()
    screen = Screen(out)
    screen.end()
    assert out.take() == ""

    screen.show(["one"], SIZE)
    assert out.take().startswith("\x1b[?1049h")
    screen.end()
    assert out.take().endswith("\x1b[?1049l")
    assert not out.screen.cursor.hidden
    screen.end()
    assert out.take() == ""
    screen.show(["one"], SIZE)
    assert out.take().startswith("\x1b[?1049h")
    assert out.lines[0] == "one"


@pytest.mark.parametrize(("columns", "rows", "seen"), [(40, 12, (40, 12)), (0, 0, (80, 24))])
def test_the_size_is_that_of_the_terminal(columns: int, rows: int, seen: tuple[int, int]) -> None:
    person, program = pty.openpty()
    fcntl.ioctl(program, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    with open(program, "w", encoding="utf-8") as stream:
        assert Screen(stream).size == seen
        assert Screen(stream).is_ours()  # no terminal that runs jobs of ours
    os.close(person)
    assert Screen(io.StringIO()).size == (80, 24)
