"""Columns line up on the screen, whatever script the cells are in."""

import pytest

from swarm.cli.columns import clip, pad, table
from swarm.core.breaking import width


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        ("", 0),
        ("abc", 3),
        ("日本", 4),
        ("\uff46", 2),
        ("é", 1),
        ("e\u0301", 1),
        ("🙂", 2),
        ("👍🏽", 4),
        ("👩‍👩‍👧", 6),
        ("🇯🇵", 2),
        ("❤", 1),
        ("❤\ufe0f", 2),
        ("a\u200db\u200dc", 3),
        ("🏽", 2),
        ("a🏽", 3),
        ("👩\u200dab", 4),
        ("1\ufe0f\u20e3", 2),
        ("करना", 4),
    ],
)
def test_width_is_the_most_that_a_terminal_gives(text: str, cells: int) -> None:
    """Joined pictures are drawn as one by some and side by side by others."""
    assert width(text) == cells


def test_cells_are_padded_by_width_not_by_length() -> None:
    assert pad("日本", 5) == "日本 "
    assert [width(line) for line in table([("日本", "x"), ("abcd", "x"), ("🙂", "x")])] == [7, 7, 7]


def test_clipped_text_fits_and_says_so() -> None:
    assert clip("abcdef", 4) == "abc…"
    assert clip("日本語", 4) == "日…"
    assert clip("abcd", 4) == "abcd"
    assert width(clip("👩‍👩‍👧" * 9, 5)) <= 5


def test_a_line_end_in_a_cell_does_not_break_the_table() -> None:
    assert table([("1", "two\nlines"), ("2", "one")]) == ["1  two\\nlines", "2  one"]


def test_a_column_that_is_empty_everywhere_takes_no_room() -> None:
    assert table([("1", "", "a"), ("2", "", "b")]) == ["1  a", "2  b"]


def test_only_the_flexible_column_gives_way() -> None:
    rows = [("1", "a long subject that goes on and on", "owner"), ("2", "short", "w")]

    lines = table(rows, limit=30, flexible=1)

    assert lines == ["1  a long subject that…  owner", "2  short                 w"]
    assert max(map(len, lines)) == 30


def test_the_flexible_column_keeps_twelve_cells_and_the_widest_others_give_way() -> None:
    """A line that a terminal had to break would put foreign text where lines of ours begin."""
    rows = [("7", "x" * 30, "a long subject", "y" * 3000)]

    (line,) = table(rows, limit=40, flexible=2)

    assert line == "7  xxxxxxxxx…  a long subj…  yyyyyyyyyy…"


def test_without_a_limit_nothing_is_clipped() -> None:
    assert table([("x" * 300,)]) == ["x" * 300]
