"""Styled lines become what a terminal is sent."""

from __future__ import annotations

import io

import pytest
from rich.console import Console
from rich.text import Text

from swarm.cli.painting import Painter


def painter(*, color: bool = True) -> Painter:
    console = Console(file=io.StringIO(), force_terminal=True, color_system="standard")
    return Painter(console, color=color)


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        (Text("plain"), "plain"),
        (Text("all of it", style="bold yellow"), "\x1b[1;33mall of it\x1b[0m"),
        (Text.assemble("a", ("b", "red"), "c"), "a\x1b[31mb\x1b[0mc"),
        (Text.assemble(("b", "bold"), style="red"), "\x1b[1;31mb\x1b[0m"),
    ],
)
def test_styles_of_parts_and_of_the_whole_line_count(text: Text, codes: str) -> None:
    paint = painter().paint
    assert paint(text) == paint(text) == codes


def test_lines_of_the_same_words_may_differ_in_colour() -> None:
    paint = painter().paint
    assert paint(Text("x", style="red")) != paint(Text("x", style="green"))


def test_without_colour_there_are_only_words() -> None:
    assert painter(color=False).paint(Text.assemble("a", ("b", "bold red"))) == "ab"


def test_what_was_painted_is_not_kept_for_ever() -> None:
    kept = painter()
    for number in range(2000):
        kept.paint(Text(str(number)))
    assert len(kept._painted) < 600
