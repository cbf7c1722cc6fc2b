r"""Replacing a passage of a text, with every other character left alone.

A model writes line ends as "\n" whatever the file has, so a passage is found over any of them, and what takes
its place gets the ends that are there.
"""

from __future__ import annotations

import difflib
import re
from bisect import bisect_left
from collections.abc import Iterator

from swarm.values import Value
from worker.tools.text_files import REPLACEMENT, line_end_of

_LINE_END = re.compile(r"(\r\n|\n|\r)")
_NUMBERED = re.compile(r"^ *\d+\t", re.MULTILINE)
_PLACES_NAMED = 10


class EditError(Exception):
    """The passage cannot be replaced. The message tells the model what to do, `fault` a person why."""

    def __init__(self, told: str, fault: str) -> None:
        super().__init__(told)
        self.fault = fault


class Edited(Value):
    """The text after the change. `start` and `end` span the first passage that was put in."""

    text: str
    count: int
    start: int
    end: int


def replace_passage(text: str, old: str, new: str, *, replace_all: bool) -> Edited:
    """Return the text with `new` in place of `old`, which must occur once unless `replace_all`."""
    as_given = old in text and ("\r" in old or "\r" not in text)
    spans = list(_find(text, old) if as_given else _find_over_line_ends(text, old))
    if not spans:
        raise EditError(_not_found(text, old), "it does not hold that text")
    if not replace_all and len(spans) > 1:
        raise EditError(_not_unique(text, spans), f"it holds that text {len(spans):,} times")
    chosen = list(_without_overlaps(spans))
    pieces = [new if as_given else _with_line_ends(text, start, end, new) for start, end in chosen]
    edited = _put_together(text, chosen, pieces)
    if edited == text:
        raise EditError(
            "The change would leave the file as it is; nothing was written.", "nothing would change"
        )
    start = chosen[0][0]
    return Edited(text=edited, count=len(chosen), start=start, end=start + len(pieces[0]))


def _find(text: str, old: str) -> Iterator[tuple[int, int]]:
    """Yield every place, overlapping ones too: those make a passage ambiguous as well."""
    start = text.find(old)
    while start >= 0:
        yield start, start + len(old)
        start = text.find(old, start + 1)


def _find_over_line_ends(text: str, old: str) -> Iterator[tuple[int, int]]:
    flat = flattened(text)
    pairs = [match.start() - nth for nth, match in enumerate(re.finditer("\r\n", text))]
    for start, end in _find(flat, flattened(old)):
        yield start + bisect_left(pairs, start), end + bisect_left(pairs, end)


def flattened(text: str) -> str:
    """Return the text with plain line feeds for line ends."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _without_overlaps(spans: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    reached = 0
    for start, end in spans:
        if start >= reached:
            yield start, end
            reached = end


def _put_together(text: str, spans: list[tuple[int, int]], pieces: list[str]) -> str:
    parts: list[str] = []
    reached = 0
    for (start, end), piece in zip(spans, pieces, strict=True):
        parts += (text[reached:start], piece)
        reached = end
    return "".join((*parts, text[reached:]))


def _with_line_ends(text: str, start: int, end: int, new: str) -> str:
    """Return `new` with the line ends of the passage that it replaces, or of its surroundings."""
    lines = flattened(new).split("\n")
    tokens = _LINE_END.split(text[start:end])
    contents, ends = tokens[::2], tokens[1::2]
    if len(set(ends)) > 1:
        return _with_mixed_ends(lines, contents, ends)
    return (ends[0] if ends else _line_end_near(text, start, end)).join(lines)


def _line_end_near(text: str, start: int, end: int) -> str:
    after = _LINE_END.search(text, end)
    if after:
        return after.group()
    return line_end_of(text[:start])


def _with_mixed_ends(lines: list[str], contents: list[str], ends: list[str]) -> str:
    """Lines that stay keep their ends; a new one gets the end of the line that it replaces or follows."""
    chosen: list[str | None] = [None] * len(lines)
    matcher = difflib.SequenceMatcher(None, contents, lines, autojunk=False)
    for _, old_from, old_to, new_from, new_to in matcher.get_opcodes():
        for old_at, new_at in zip(range(old_from, old_to), range(new_from, new_to), strict=False):
            chosen[new_at] = ends[old_at] if old_at < len(ends) else None
    parts: list[str] = []
    last = ends[0]
    for line, line_end in zip(lines, chosen, strict=True):
        last = line_end or last
        parts += (line, last)
    return "".join(parts[:-1])


def _not_found(text: str, old: str) -> str:
    said = "old_string was not found in the file, so nothing was changed"
    if _NUMBERED.search(old) and _NUMBERED.sub("", old) in flattened(text):
        return (
            f"{said}: it holds the line numbers that Read prints; leave each number and the tab after it out."
        )
    if REPLACEMENT in old:
        return f"{said}: {REPLACEMENT} stands for bytes that are not UTF-8; choose a passage without it."
    if _squeeze(old) in _squeeze(text):
        return f"{said}: it differs from the file in white space; copy the passage exactly as Read shows it."
    return f"{said}; read the file again and copy the passage exactly, with its indentation."


def _squeeze(text: str) -> str:
    return " ".join(text.split())


def _not_unique(text: str, spans: list[tuple[int, int]]) -> str:
    numbers = [str(line_number(text, start)) for start, _ in spans[:_PLACES_NAMED]]
    places = ", ".join(numbers) + (", …" if len(spans) > _PLACES_NAMED else "")
    return (
        f"old_string occurs {len(spans):,} times (at lines {places}), so nothing was changed; add lines "
        "around the one that you mean until it is unique, or set replace_all to change every one."
    )


def line_number(text: str, offset: int) -> int:
    """Return the number of the line in which the offset lies, counted from 1."""
    return flattened(text[:offset]).count("\n") + 1
