"""Columns aligned by what a terminal shows, not by what a text counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from swarm.cli.render import printable

_JOINER = "\u200d"
_EMOJI_STYLE = "\ufe0f"
_SKIN_TONES = range(0x1F3FB, 0x1F400)
_GAP = "  "
_LEAST_CELLS = 12


def width(text: str) -> int:
    """Return how many cells a terminal gives to a text: wide characters two, combining ones none."""
    if text.isascii():
        return len(text)
    from unicodedata import category, east_asian_width

    cells, joined, last = 0, False, 0
    for ch in text:
        if ch == _EMOJI_STYLE and last == 1:
            cells, last = cells + 1, 2
        elif joined or category(ch) in {"Mn", "Me", "Cf"} or ord(ch) in _SKIN_TONES:
            joined = ch == _JOINER
        else:
            last = 2 if east_asian_width(ch) in {"W", "F"} else 1
            cells += last
    return cells


def pad(text: str, cells: int) -> str:
    return text + " " * (cells - width(text))


def clip(text: str, cells: int) -> str:
    """Return a text of at most so many cells; one that is cut ends in an ellipsis."""
    if width(text) <= cells:
        return text
    text = text[:cells]
    while text and width(text) > cells - 1:
        text = text[:-1]
    return text.rstrip(_JOINER) + "…"


def clip_start(text: str, cells: int) -> str:
    """Return the end of a text, which of a path says most, in at most so many cells."""
    if width(text) <= cells:
        return text
    while text and width(text) > cells - 1:
        text = text[1:]
    return f"…{text}"


def align(
    rows: Sequence[Sequence[str]],
    *,
    limit: int | None = None,
    flexible: int = 0,
    dispensable: Mapping[int, int] | None = None,
) -> list[list[str]]:
    """Return rows of printable cells padded to one width per column, without the columns that are empty.

    With a `limit`, the `flexible` column is clipped so that a line fits, though never below 12 cells. Each of
    the `dispensable` columns is left out in turn, if else the flexible one had fewer cells than stand there.
    """
    cells = [[printable(cell) for cell in row] for row in rows]
    widths = [max(map(width, column)) for column in zip(*cells, strict=True)]
    if limit is not None:
        for at, least in (dispensable or {}).items():
            if _room(widths, limit, flexible) < min(least, widths[flexible]):
                widths[at] = 0
        widths[flexible] = min(widths[flexible], max(_LEAST_CELLS, _room(widths, limit, flexible)))
        for row in cells:
            row[flexible] = clip(row[flexible], widths[flexible])
    kept = [at for at, cell_width in enumerate(widths) if cell_width]
    return [[pad(row[at], widths[at]) for at in kept] for row in cells]


def _room(widths: Sequence[int], limit: int, flexible: int) -> int:
    """Return how many cells a line has for the flexible column."""
    others = [cells for at, cells in enumerate(widths) if cells and at != flexible]
    return limit - sum(others) - len(_GAP) * len(others)


def table(rows: Sequence[Sequence[str]], *, limit: int | None = None, flexible: int = 0) -> list[str]:
    """Return aligned rows as lines."""
    return [_GAP.join(cells).rstrip() for cells in align(rows, limit=limit, flexible=flexible)]
