"""Only what was asked for changes; every other character, line ends above all, stays as it is."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.tools.edits import Edited, EditError, line_number, replace_passage


def replaced(text: str, old: str, new: str, *, replace_all: bool = False) -> str:
    return replace_passage(text, old, new, replace_all=replace_all).text


@pytest.mark.parametrize(
    ("text", "old", "new", "expected"),
    [
        ("a\r\nb\r\nc\r\n", "b", "B", "a\r\nB\r\nc\r\n"),
        ("a\r\nb\r\nc\r\n", "a\nb\n", "a\nx\nb\n", "a\r\nx\r\nb\r\nc\r\n"),
        ("a\rb\rc", "b", "x\ny", "a\rx\ry\rc"),
        ("a\r\nb\nc\n", "b", "B1\nB2", "a\r\nB1\nB2\nc\n"),
        ("a\r\nb\nc\r\n", "a\nb\nc", "a\nB\nc", "a\r\nB\nc\r\n"),
        ("a\r\nb\nc\rd", "a\nb\nc\nd", "a\nb\nx\nc\nd", "a\r\nb\nx\nc\rd"),
        ("a\nb", "a\r\nb", "a\r\nc", "a\nc"),
        ("a\r\nb", "a\r\nb", "a\nb", "a\nb"),
        ("one", "one", "two\nlines", "two\nlines"),
        ("x\r\ny", "y", "y\nz", "x\r\ny\r\nz"),
        ("\ufeffa\n", "a", "b", "\ufeffb\n"),
    ],
    ids=[
        "one word in CRLF",
        "lines put into CRLF",
        "lone CR",
        "mixed: new lines follow their surroundings",
        "mixed: kept lines keep their ends",
        "mixed: three kinds",
        "CRLF asked for where there is LF",
        "ends themselves are edited when the passage names them",
        "no line end at all",
        "last line without an end",
        "byte order mark",
    ],
)
def test_line_ends(text: str, old: str, new: str, expected: str) -> None:
    assert replaced(text, old, new) == expected


def test_every_occurrence_when_asked() -> None:
    edited = replace_passage("a.a\r\na", "a", "bb", replace_all=True)

    assert edited == Edited(text="bb.bb\r\nbb", count=3, start=0, end=2)


@pytest.mark.parametrize(
    ("text", "old", "hint"),
    [
        ("def f():\n    pass\n", "def g()", "copy the passage exactly"),
        ("def f():\n    pass\n", "def f():\n  pass", "white space"),
        ("def f():\n    pass\n", "1\tdef f():\n2\t    pass", "line numbers"),
        ("caf\udce9", "caf\ufffd", "not UTF-8"),
    ],
)
def test_what_is_not_found_is_explained(text: str, old: str, hint: str) -> None:
    with pytest.raises(EditError, match=hint):
        replaced(text, old, "x")


def test_ambiguous_passages_are_refused_with_their_places() -> None:
    with pytest.raises(EditError, match=r"occurs 2 times \(at lines 1, 3\).*replace_all"):
        replaced("a\r\nb\r\na\r\n", "a", "x")


def test_overlapping_occurrences_are_ambiguous_too() -> None:
    """`aba` is in `ababa` twice, though a plain count says once."""
    with pytest.raises(EditError, match="occurs 2 times"):
        replaced("ababa", "aba", "x")


def test_an_edit_without_effect_is_refused() -> None:
    with pytest.raises(EditError, match="as it is"):
        replaced("a\r\nb\r\n", "a\nb", "a\r\nb")


def test_line_numbers_count_every_kind_of_end() -> None:
    assert line_number("a\r\nb\rc\nd", len("a\r\nb\rc\nd")) == 4


LINE_ENDS = st.sampled_from(["\n", "\r\n", "\r"])
WORDS = st.text("abc \udce9", max_size=5)


@given(
    st.lists(st.tuples(WORDS, LINE_ENDS), max_size=8),
    st.lists(st.tuples(WORDS, LINE_ENDS), max_size=8),
    st.data(),
)
def test_only_the_passage_changes(
    before: list[tuple[str, str]], after: list[tuple[str, str]], data: st.DataObject
) -> None:
    """Whatever surrounds a marked line, and however its lines end, stays byte for byte."""
    head = "".join(word + end for word, end in before)
    tail = "".join(end + word for word, end in after)
    new = "\n".join(data.draw(st.lists(st.text("xyz", min_size=1, max_size=3), min_size=1, max_size=3)))

    result = replaced(f"{head}MARK{tail}", "MARK", new)

    assert result.startswith(head)
    assert result.endswith(tail)
    inside = result[len(head) : len(result) - len(tail)]
    assert inside.replace("\r\n", "\n").replace("\r", "\n") == new
    ends = set(re.findall(r"\r\n|\r|\n", inside))
    assert len(ends) <= 1
    if ends and tail:
        assert ends == {re.match(r"\r\n|\r|\n", tail).group()}  # type: ignore[union-attr]


@given(
    st.lists(st.tuples(st.text("ab", min_size=1, max_size=2), LINE_ENDS), min_size=2, max_size=8), st.data()
)
def test_one_line_of_a_longer_passage(lines: list[tuple[str, str]], data: st.DataObject) -> None:
    """A model quotes lines around the one it means: those keep their own ends, whichever they are."""
    at = data.draw(st.integers(0, len(lines) - 1))
    marked = [(f"{n}{word}", end) for n, (word, end) in enumerate(lines)]
    text = "".join(word + end for word, end in marked)
    old = "\n".join(word for word, _ in marked)
    new = "\n".join("NEW" if n == at else word for n, (word, _) in enumerate(marked))

    expected = "".join(("NEW" if n == at else word) + end for n, (word, end) in enumerate(marked))
    assert replaced(text, old, new) == expected
