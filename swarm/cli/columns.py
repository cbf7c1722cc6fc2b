"""Columns aligned by what a terminal shows, not by what a text counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from swarm.cli.render import printable
from swarm.core.breaking import width

_JOINER = "\u200d"
_GAP = "  "
_LEAST_CELLS = 12
_FEW_CELLS = 4


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

    With a `limit`, the `flexible` column is clipped so that a line fits, though not below 12 cells: then the
    widest of the others give way. Each of the `dispensable` columns is left out in turn, if else the flexible
    one had fewer cells than stand there.
    """
    cells = [[printable(cell) for cell in row] for row in rows]
    widths = [max(map(width, column)) for column in zip(*cells, strict=True)]
    flexible = flexible % len(widths) if widths else 0
    if limit is not None:
        for at, least in (dispensable or {}).items():
            if _room(widths, limit, flexible) < min(least, widths[flexible]):
                widths[at] = 0
        widths[flexible] = min(widths[flexible], max(_LEAST_CELLS, _room(widths, limit, flexible)))
        _narrow(widths, limit, flexible)
        cells = [[clip(*cell) for cell in zip(row, widths, strict=True)] for row in cells]
    kept = [at for at, cell_width in enumerate(widths) if cell_width]
    return [[pad(row[at], widths[at]) for at in kept] for row in cells]


def _narrow(widths: list[int], limit: int, flexible: int) -> None:
    """Take cells from the widest columns but the flexible one, until a line fits or each has but a few."""
    widths[:] = [min(cells, limit) for cells in widths]
    over = widths[flexible] - _room(widths, limit, flexible)
    others = [at for at in range(len(widths)) if at != flexible]
    while over > 0 and others:
        widest = max(others, key=widths.__getitem__)
        if widths[widest] <= _FEW_CELLS:
            return
        widths[widest] -= 1
        over -= 1


def _room(widths: Sequence[int], limit: int, flexible: int) -> int:
    """Return how many cells a line has for the flexible column."""
    others = [cells for at, cells in enumerate(widths) if cells and at != flexible]
    return limit - sum(others) - len(_GAP) * len(others)


def table(rows: Sequence[Sequence[str]], *, limit: int | None = None, flexible: int = 0) -> list[str]:
    """Return aligned rows as lines."""
    return [_GAP.join(cells).rstrip() for cells in align(rows, limit=limit, flexible=flexible)]
