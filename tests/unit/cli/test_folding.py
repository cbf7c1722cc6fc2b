"""Lines that fit a terminal."""

from __future__ import annotations

import shlex

from swarm.cli.folding import folded, folded_command, folded_painted


def test_a_line_that_fits_or_goes_to_no_terminal_stays_one() -> None:
    assert folded("one two", 7) == ["one two"]
    assert folded("one two " * 50, None) == ["one two " * 50]


def test_a_line_is_broken_at_blanks_and_hangs() -> None:
    text = "task 1: the rule that would allow it is not there, and nobody can be asked"

    lines = folded(text, 30, hang=2)

    assert lines == ["task 1: the rule that would", "  allow it is not there, and", "  nobody can be asked"]


def test_wide_characters_count_twice() -> None:
    assert folded("日本語 日本語 日本語", 14) == ["日本語 日本語", "日本語"]


def test_a_painted_line_stays_painted_and_counts_what_is_seen() -> None:
    assert folded_painted("\x1b[31mone two\x1b[0m", 7, 2) == ["\x1b[31mone two\x1b[0m"]
    assert folded_painted("\x1b[31mone two three\x1b[0m", 7, 2) == [
        "\x1b[31mone two\x1b[0m",
        "\x1b[31mthree\x1b[0m",
    ]
    assert folded_painted("one two", 3, 0) == ["one", "two"]


def test_a_command_in_several_lines_is_one_to_a_shell() -> None:
    words = ["swarm", "resume", "t1", "--allow 'Bash(rm -r leftovers)'", "--allow 'Edit(/shop/prices.py)'"]

    lines = folded_command(words, 46, 9)

    assert all(len(line) <= 46 - 9 for line in lines)
    assert len(lines) > 1
    assert shlex.split("\n".join(lines).replace("\\\n", "")) == shlex.split(" ".join(words))
    assert folded_command(words, None, 9) == [" ".join(words)]
