"""Pieces of styled text laid out in cells: cut, padded and put side by side."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from swarm.core.breaking import width, wrap

_GAP = "  "


def cut(text: str, cells: int, *, unicode: bool) -> str:
    """Return a text of at most so many cells; one that was longer ends in dots."""
    if len(text) <= cells and width(text) <= cells:
        return text
    if cells < 1:
        return ""
    dots = "…" if unicode else "..."[:cells]
    return (wrap(text[: cells + 1], cells - len(dots))[0] if cells > len(dots) else "") + dots


def cut_start(text: str, cells: int, *, unicode: bool) -> str:
    """Return the end of a text, likewise."""
    return cut(text[::-1], cells, unicode=unicode)[::-1]


def fit(text: Text, cells: int, *, unicode: bool) -> Text:
    """Return styled text of one line that has at most so many cells."""
    if width(text.plain) <= cells:
        return text
    plain = cut(text.plain, cells, unicode=unicode)
    kept = len(plain) - (1 if unicode else min(3, cells))
    fitted = text[: max(0, kept)]
    fitted.append(plain[max(0, kept) :], style="dim")
    return fitted


def side_by_side(rows: Sequence[Sequence[Text]], cells: int, *, flexible: int, unicode: bool) -> list[Text]:
    """Return each row as one line, its cells in columns; the flexible column gets what the others leave."""
    widths = [max((width(cell.plain) for cell in column), default=0) for column in zip(*rows, strict=True)]
    others = sum(w + len(_GAP) for at, w in enumerate(widths) if at != flexible and w)
    widths[flexible] = min(widths[flexible], max(0, cells - others))
    lines = []
    for row in rows:
        line = Text()
        for cell, wide in zip(row, widths, strict=True):
            if wide:
                fitted = fit(cell, wide, unicode=unicode)
                line.append(_GAP if line else "")
                line.append_text(fitted)
                line.append(" " * (wide - width(fitted.plain)))
        line.rstrip()
        lines.append(fit(line, cells, unicode=unicode))
    return lines
