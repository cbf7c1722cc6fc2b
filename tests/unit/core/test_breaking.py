"""Lines that are broken by us and not by the terminal: nothing is lost, and foreign text begins no row."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swarm.core.breaking import hanging, width

TEXT = st.text(alphabet="ab 日👍🏽\u200d\u0301\ufe0f-\t", max_size=200)


@given(TEXT, st.integers(4, 60), st.integers(0, 12))
def test_every_row_fits_and_all_but_the_first_have_a_margin(text: str, cells: int, indent: int) -> None:
    first, *others = hanging(text, cells, indent)
    margin = " " * min(indent, max(0, cells - 8))

    assert all(width(row) <= cells for row in (first, *others))
    assert all(row.startswith(margin) for row in others)
    said = "".join([first, *(row[len(margin) :] for row in others)])
    assert said.replace(" ", "") == text.expandtabs().replace(" ", "")


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("", [""]),
        ("short", ["short"]),
        ("twelve cells and a few more", ["twelve", "    cells and", "    a few", "    more"]),
        ("    abcdefghijklmno", ["    abcdefghi", "    jklmno"]),
        ("a\tb", ["a       b"]),
    ],
)
def test_a_line_is_broken_at_blanks_where_there_are_any(text: str, rows: list[str]) -> None:
    assert hanging(text, 13, 4)[: len(rows)] == rows


def test_without_a_terminal_a_line_is_a_line() -> None:
    assert hanging("x\t" * 500, None, 4) == ["x\t" * 500]
