"""How a file would change, with the numbers of its lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from swarm.cli.render import count
from swarm.cli.row import Row

_AROUND = 2
_COMPARED = 200_000
"""Pairs of equal lines; beyond this comparing takes seconds, and an agent could hold the screen up by it."""


def changed(old: str, new: str, *, with_numbers: bool = True) -> Iterator[Row]:
    """Yield what changes, with two lines around it."""
    crlf = old.count("\r\n")
    if crlf and crlf == old.count("\n") and new.count("\r\n") == new.count("\n"):
        old, new = old.replace("\r\n", "\n"), new.replace("\r\n", "\n")
    before, after = _lines(old), _lines(new)
    same = _common(before, after)
    tail = _common(before[same:][::-1], after[same:][::-1])
    start = max(0, same - _AROUND)
    end = max(0, tail - _AROUND)
    middle = (before[start : len(before) - end], after[start : len(after) - end])
    digits = len(str(max(len(before), len(after)))) if with_numbers else 0
    if _pairs(*middle) > _COMPARED:
        yield Row(text=f"replaces {count(len(before), 'line')}, too many to compare, by:", own=True)
        yield from numbered(new)
    else:
        yield from _hunks(*middle, start, digits)
    if old.endswith("\n") != new.endswith("\n") and old and new:
        what = "loses the line end at its end" if old.endswith("\n") else "gets a line end at its end"
        yield Row(text=f"the text {what}", own=True)
    if old == new:
        yield Row(text="the text is the same as before", own=True)


def numbered(text: str) -> Iterator[Row]:
    """Yield a whole text as what is new."""
    lines = _lines(text)
    digits = len(str(len(lines)))
    for at, line in enumerate(lines, 1):
        yield _row("+", at, line, digits)


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    return lines


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    for at, (left, right) in enumerate(zip(one, other, strict=False)):
        if left != right:
            return at
    return min(len(one), len(other))


def _pairs(old: Sequence[str], new: Sequence[str]) -> int:
    """Return what comparing costs."""
    counts = Counter(new)
    return sum(counts[line] for line in old)


def _hunks(old: list[str], new: list[str], skipped: int, digits: int) -> Iterator[Row]:
    """Yield the changed places of these lines, which begin after so many others."""
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    for nth, group in enumerate(matcher.get_grouped_opcodes(_AROUND)):
        if nth:
            yield Row(text="and further on:", own=True)
        for kind, old_from, old_to, new_from, new_to in group:
            sign = " " if kind == "equal" else "-"
            for at in range(old_from, old_to):
                yield _row(sign, skipped + at + 1, old[at], digits)
            for at in range(new_from, new_to) if kind != "equal" else ():
                yield _row("+", skipped + at + 1, new[at], digits)


def _row(sign: str, number: int, line: str, digits: int) -> Row:
    mark = f"{number:>{digits}} {sign} " if digits else f"{sign} "
    style = {"-": "red", "+": "green"}.get(sign, "dim")
    return Row(mark=mark, text=line, style=style, tabs=True)
