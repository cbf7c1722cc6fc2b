"""The part of a question that is foreign: the call, line by line behind a bar, and what is odd about it.

A view draws a question ten times a second, and an agent decides how long it is: so it is worked out once, and
no further than somebody will look.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from itertools import islice

from rich.text import Text

from swarm.cli.asked_call import call_rows, touched_file
from swarm.cli.exact_text import exact, has_hidden, with_tabs_drawn
from swarm.cli.row import Row
from swarm.core.breaking import pieces, wrap_words
from swarm.core.permission import PermissionRequest, request_digest
from swarm.values import Value

INDENT = "  "
LEAST_CELLS = 4
_COUNTED = 2000  # lines beyond those that are shown
_KEPT = 16


class Body(Value):
    """The lines of the call. Not `whole`: there are more, which nobody has counted."""

    warnings: tuple[Text, ...]
    lines: tuple[Text, ...]
    whole: bool


_known: dict[tuple[object, ...], tuple[PermissionRequest, object, Body]] = {}


def body_of(
    request: PermissionRequest, cells: int, rows: int | None, *, unicode: bool, compare: bool = True
) -> Body:
    """Return the call in lines of so many cells, all of them unless there are only so many rows for it."""
    key = (request.id, cells, rows, unicode, compare)
    stamp = _stamp(touched_file(request))
    known = _known.get(key)
    if known is not None and known[0] == request and known[1] == stamp:
        return known[2]
    most = sys.maxsize if rows is None else rows + _COUNTED
    called = call_rows(request, compare=compare)
    lines = (line for row in called for line in row_lines(row, cells, unicode=unicode))
    found = tuple(islice(lines, most))
    whole = next(lines, None) is None
    body = Body(warnings=tuple(_warnings(request, cells)), lines=found, whole=whole)
    while len(_known) >= _KEPT:
        _known.pop(next(iter(_known)))
    _known[key] = (request, stamp, body)
    return body


def own_lines(text: str, cells: int, *, unicode: bool) -> list[Text]:
    """Return one of our sentences in lines; a rule or a reason in it may hold foreign words."""
    broken = wrap_words(exact(text, unicode=unicode), _room(cells))
    return [a_line(INDENT + (INDENT if at else "") + piece) for at, piece in enumerate(broken)]


def a_line(text: str, style: str = "") -> Text:
    return Text(text, style=style, no_wrap=True, overflow="crop")


def _warnings(request: PermissionRequest, cells: int) -> Iterator[Text]:
    """Yield what makes a question suspicious, to be read before anything else."""
    said = []
    if request.digest != request_digest(request.tool, request.input, request.cwd):
        said.append("This question was changed after it was asked. Say no.")
    if any(map(has_hidden, _texts(request.input))):
        said.append("It holds invisible or control characters; they are shown as \\x1b or \\u202e.")
    for text in said:
        for piece in wrap_words(text, _room(cells)):
            yield a_line(INDENT + piece, "bold red")


def _texts(value: object) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _texts(part)
    elif hasattr(value, "items"):
        for key, part in value.items():
            yield from (str(key), *_texts(part))


def _stamp(path: str | None) -> object:
    """Return what differs when a file has changed."""
    if path is None:
        return None
    try:
        state = os.stat(path)
    except (OSError, ValueError):
        return None
    return state.st_mtime_ns, state.st_size, state.st_ino


def row_lines(row: Row, cells: int, *, unicode: bool) -> Iterator[Text]:
    if row.own:
        yield from own_lines(row.text, cells, unicode=unicode)
        return
    text = with_tabs_drawn(row.text, unicode=unicode) if row.tabs else row.text
    bar = f"{INDENT}{'│' if unicode else '|'} "
    room = max(LEAST_CELLS, cells - len(bar) - len(row.mark))
    mark_style = "dim" if row.style == "bold" else row.style
    for at, piece in enumerate(pieces(exact(text, unicode=unicode), room)):
        line = a_line("")
        line.append(bar, style="dim")
        line.append(" " * len(row.mark) if at else row.mark, style=mark_style)
        line.append(piece, style=row.style)
        yield line


def _room(cells: int) -> int:
    return max(LEAST_CELLS, cells - 2 * len(INDENT))
