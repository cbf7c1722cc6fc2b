"""How wide a text is on a terminal, and lines broken so that they fit."""

from __future__ import annotations

from collections.abc import Iterator

_EMOJI_STYLE = "\ufe0f"
_LEAST_CELLS = 8


def width(text: str) -> int:
    """Return how many cells a terminal gives to a text at most: wide characters two, combining ones none.

    Some terminals draw pictures that are joined as one, and others side by side. A line that is taken for
    narrower than it is would end on the next row, so here they are counted one by one.
    """
    if text.isascii():
        return len(text)
    from unicodedata import category, east_asian_width

    cells = last = 0
    for ch in text:
        if ch == _EMOJI_STYLE and last == 1:
            cells, last = cells + 1, 2
        elif category(ch) not in {"Mn", "Me", "Cf"}:
            last = 2 if east_asian_width(ch) in {"W", "F"} else 1
            cells += last
    return cells


def wrap(text: str, cells: int) -> list[str]:
    """Return a line in pieces of at most so many cells, in order and with nothing left out."""
    return list(pieces(text, cells))


def pieces(text: str, cells: int) -> Iterator[str]:
    """Yield these pieces; of a text without end no more is looked at than is taken."""
    if text.isascii():
        yield text[:cells]
        yield from (text[at : at + cells] for at in range(cells, len(text), cells))
        return
    start, taken = 0, 0
    for at, ch in enumerate(text):
        wide = 1 if ch == _EMOJI_STYLE else width(ch)
        if taken + wide > cells and at > start:
            yield text[start:at]
            start, taken = at, 0
        taken += wide
    yield text[start:]


def wrap_words(text: str, cells: int) -> list[str]:
    """Return a sentence in lines of at most so many cells, broken at blanks where there are any.

    Of the blanks at a break one is left out, which the line end stands for.
    """
    lines = []
    while len(broken := wrap(text[: 2 * cells], cells)) > 1 or len(text) > 2 * cells:
        first = broken[0]
        if text[len(first) :][:1] != " " and (blank := first.rfind(" ")) > 0:
            first = first[:blank]
        lines.append(first)
        text = text[len(first) :].removeprefix(" ")
    return [*lines, text]


def hanging(text: str, cells: int | None, indent: int) -> list[str]:
    """Return a line as a terminal of so many cells shows it, every row but the first behind a margin.

    Broken by the terminal itself, foreign text could be long enough to begin a row, and look like another
    line of ours. Without `cells` nothing is broken.
    """
    if cells is None:
        return [text]
    text = text.expandtabs()
    if width(text) <= cells:
        return [text]
    margin = " " * min(indent, max(0, cells - _LEAST_CELLS))
    bare = text.lstrip(" ")
    lead = min(len(text) - len(bare), len(margin))  # which is no place to break at
    first, *others = wrap_words(text[lead:], max(1, cells - len(margin)))
    return [text[:lead] + first, *(margin + one for one in others)]
