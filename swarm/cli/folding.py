"""Lines that fit a terminal: broken at blanks, where the terminal would break inside a word."""

from __future__ import annotations

import re
from collections.abc import Sequence

from swarm.cli.columns import width
from swarm.cli.exact_text import wrap_words

_LEAST_CELLS = 20
_CONTINUED = " \\"
_PAINTED = re.compile(r"(\x1b\[\d+m)([^\x1b]*)(\x1b\[0m)")


def folded(text: str, columns: int | None, hang: int = 0) -> list[str]:
    """Return a line as lines of at most so many cells, of which all but the first hang behind blanks."""
    if columns is None or width(text) <= columns:
        return [text]
    hang = min(hang, max(0, columns - _LEAST_CELLS))
    first = wrap_words(text, columns)[0]
    rest = text[len(first) :].removeprefix(" ")
    return [first, *(f"{' ' * hang}{line}" for line in wrap_words(rest, columns - hang))]


def folded_painted(text: str, columns: int | None, hang: int) -> list[str]:
    """Do the same with a line that is painted as a whole, or not at all."""
    found = _PAINTED.fullmatch(text)
    if found is None:
        return folded(text, columns, hang)
    return [f"{found[1]}{line}{found[3]}" for line in folded(found[2], columns, hang)]


def folded_command(words: Sequence[str], columns: int | None, hang: int) -> list[str]:
    """Return a shell's command in lines that a shell takes as one; no word of it is broken."""
    lines = [words[0]]
    for at, word in enumerate(words[1:], start=1):
        room = (columns or 0) - hang - (0 if at == len(words) - 1 else len(_CONTINUED))
        if columns is None or width(f"{lines[-1]} {word}") <= room:
            lines[-1] += f" {word}"
        else:
            lines[-1] += _CONTINUED
            lines.append(f"  {word}")
    return lines
