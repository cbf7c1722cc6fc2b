"""Small views of a changed file, for the result of the call that changed it."""

from __future__ import annotations

import difflib

from worker.tools.edits import line_number
from worker.tools.text_files import split_lines

_AROUND = 3
_LINES_MAX = 30
_WIDTH_MAX = 200
_DIFF_LINES_MAX = 2_000


def excerpt(text: str, start: int, end: int) -> str:
    """Return the lines from `start` to `end` with a few around them, numbered as Read does."""
    lines = split_lines(text)
    first = max(1, line_number(text, start) - _AROUND)
    last = min(len(lines), line_number(text, end) + _AROUND)
    shown = [f"{number}\t{_narrow(lines[number - 1])}" for number in range(first, last + 1)]
    if len(shown) > _LINES_MAX:
        half = _LINES_MAX // 2
        left_out = len(shown) - 2 * half
        shown = [*shown[:half], f"[{left_out:,} lines left out]", *shown[-half:]]
    return "\n".join(shown)


def difference(old: str, new: str) -> str:
    """Return what changed line by line, cut to a few lines; empty when the texts are too long to compare."""
    before, after = split_lines(old), split_lines(new)
    if max(len(before), len(after)) > _DIFF_LINES_MAX:
        return ""
    lines = list(difflib.unified_diff(before, after, n=1, lineterm=""))[2:]
    shown = [_narrow(line) for line in lines[:_LINES_MAX]]
    if len(lines) > _LINES_MAX:
        shown.append(f"[{len(lines) - _LINES_MAX:,} lines left out]")
    return "\n".join(shown)


def _narrow(line: str) -> str:
    visible = line.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return visible if len(visible) <= _WIDTH_MAX else visible[:_WIDTH_MAX] + "…"
