"""One question on a screen: who wants what, what exactly would happen, why it is asked, what `always` means.

Every line of foreign text stands behind a bar, so that it cannot be taken for one of ours.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Sequence

from rich.text import Text

from swarm.cli.asked_call import call_rows, one_line, touched_file
from swarm.cli.exact_text import exact, has_hidden, with_tabs_drawn, wrap, wrap_words
from swarm.cli.render import ago, count
from swarm.cli.row import Row
from swarm.core.permission import PermissionRequest, request_digest
from swarm.core.times import parse_time

_INDENT = "  "
_LEAST_CELLS = 4
_LEAST_BODY = 4  # lines of the call that are worth more than the reason beside it
_KEPT = 16

_drawn: dict[tuple[str, int, bool], tuple[PermissionRequest, object, list[Text]]] = {}


def question_lines(
    request: PermissionRequest,
    columns: int | None,
    rows: int | None,
    *,
    unicode: bool = True,
    color: bool = True,
    now: float | None = None,
    with_time: bool = True,
) -> list[Text]:
    """Return the question in lines that fit; what has no room is counted, and it is said where to see it.

    Without `rows` nothing is left out, without `columns` nothing is broken; one row is a summary.
    `with_time`: how much is left of the time to answer.
    """
    cells = columns or sys.maxsize
    clock = (time.time() if now is None else now) if with_time else None
    if rows == 1:
        lines = [_drawn_line(clipped(summary(request, unicode=unicode), cells, unicode=unicode))]
    else:
        head = [*_head(request, cells, clock, unicode=unicode), *_warnings(request, cells)]
        body = _body(request, cells, unicode=unicode)
        tail = [_own(part, cells, unicode=unicode) for part in _tail(request)]
        lines = [*head, *body, *(line for part in tail for line in part)]
        if rows is not None and len(lines) > rows:
            lines = _fitted(request, head, body, tail, rows, cells, unicode=unicode)
    return lines if color else [_drawn_line(line.plain) for line in lines]


def reference(request: PermissionRequest) -> str:
    """Return how people call a question: by its number, or by its id where it has none."""
    return request.id if request.number is None else str(request.number)


def _called(request: PermissionRequest, *, unicode: bool) -> str:
    ref = exact(reference(request), unicode=unicode)
    return ref if request.number is None else f"#{ref}"


def _who(request: PermissionRequest, *, unicode: bool) -> str:
    task = "" if request.task is None else f" (task {exact(request.task, unicode=unicode)})"
    return f"{exact(request.agent, unicode=unicode)}{task} wants {exact(request.tool, unicode=unicode)}"


def summary(request: PermissionRequest, *, unicode: bool) -> str:
    """Return it in one line of any length."""
    what = exact(one_line(request), unicode=unicode)
    return f"{_called(request, unicode=unicode)} {_who(request, unicode=unicode)}: {what}"


def _head(request: PermissionRequest, cells: int, now: float | None, *, unicode: bool) -> list[Text]:
    who = f"{_called(request, unicode=unicode)} {_who(request, unicode=unicode)}"
    left = "" if now is None else time_left(request, now)
    told = f"{who} in {exact(request.cwd, unicode=unicode)}{left and f', {left}'}"
    return [_drawn_line(piece, "bold yellow") for piece in wrap_words(told, cells)]


def time_left(request: PermissionRequest, now: float) -> str:
    """Return how long an answer is waited for; nothing if that cannot be told."""
    try:
        left = parse_time(request.deadline_at) - now
    except (ValueError, OverflowError):
        return ""
    return f"{ago(left)} left" if left > 0 else "its time is over"


def _warnings(request: PermissionRequest, cells: int) -> list[Text]:
    """Return what makes a question suspicious, before anything else is read."""
    said = []
    if request.digest != request_digest(request.tool, request.input, request.cwd):
        said.append("This question was changed after it was asked. Say no.")
    if any(map(has_hidden, _texts(request.input))):
        said.append("It holds invisible or control characters; they are shown as \\x1b or \\u202e.")
    pieces = [piece for text in said for piece in wrap_words(text, _room(cells))]
    return [_drawn_line(_INDENT + piece, "bold red") for piece in pieces]


def _texts(value: object) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _texts(part)
    elif hasattr(value, "items"):
        for key, part in value.items():
            yield from (str(key), *_texts(part))


def _body(request: PermissionRequest, cells: int, *, unicode: bool) -> list[Text]:
    """Return the call; a view that draws ten times a second compares a file only when it has changed."""
    key = (request.id, cells, unicode)
    stamp = _stamp(touched_file(request))
    known = _drawn.get(key)
    if known is None or known[0] != request or known[1] != stamp:
        lines = [line for row in call_rows(request) for line in _row_lines(row, cells, unicode=unicode)]
        while len(_drawn) >= _KEPT:
            _drawn.pop(next(iter(_drawn)))
        _drawn[key] = (request, stamp, lines)
    return list(_drawn[key][2])


def _stamp(path: str | None) -> object:
    if path is None:
        return None
    try:
        state = os.stat(path)
    except (OSError, ValueError):
        return None
    return state.st_mtime_ns, state.st_size, state.st_ino


def _row_lines(row: Row, cells: int, *, unicode: bool) -> list[Text]:
    if row.own:
        return _own(row.text, cells, unicode=unicode)
    text = with_tabs_drawn(row.text, unicode=unicode) if row.tabs else row.text
    bar = f"{_INDENT}{'│' if unicode else '|'} "
    before = len(bar) + len(row.mark)
    lines = []
    for at, piece in enumerate(wrap(exact(text, unicode=unicode), max(_LEAST_CELLS, cells - before))):
        line = _drawn_line("")
        line.append(bar, style="dim")
        line.append(
            " " * len(row.mark) if at else row.mark, style="dim" if row.style == "bold" else row.style
        )
        line.append(piece, style=row.style)
        lines.append(line)
    return lines


def _tail(request: PermissionRequest) -> list[str]:
    why = request.why.strip()
    rule = request.suggested_rule
    told = (
        f"always: also adds the rule {rule} for the whole team"
        if rule
        else "always: not possible, no single rule would allow it"
    )
    return [*([f"why: {why}"] if why else []), told]


def _own(text: str, cells: int, *, unicode: bool) -> list[Text]:
    """Return one of our lines; a rule or a reason in it may hold foreign words."""
    pieces = wrap_words(exact(text, unicode=unicode), _room(cells))
    return [_drawn_line(_INDENT + (" " * len(_INDENT) if at else "") + p) for at, p in enumerate(pieces)]


def _room(cells: int) -> int:
    return max(_LEAST_CELLS, cells - 2 * len(_INDENT))


def _fitted(
    request: PermissionRequest,
    head: Sequence[Text],
    body: Sequence[Text],
    tail: Sequence[Sequence[Text]],
    rows: int,
    cells: int,
    *,
    unicode: bool,
) -> list[Text]:
    """Return as much as there is room for: the call before the reason, and never a part without saying so."""
    kept = list(tail)
    least = min(len(body), _LEAST_BODY)
    while kept and len(head) + least + sum(map(len, kept)) > rows:
        kept.pop(0)
    below = [line for part in kept for line in part]
    room = rows - len(head) - len(below)
    lost = 0 if kept else len(tail[-1])  # nobody says always to a rule that he cannot see
    if room > 0 and len(body) + bool(lost) <= room:
        shown = list(body)
    else:
        shown = [*head, *body][: max(0, rows - len(below) - 1)][len(head) :]
        lost += len(body) - len(shown)
    cut = [_cut(request, lost, cells, unicode=unicode)] if lost else []
    return [*head[: max(1, rows - len(shown) - len(cut) - len(below))], *shown, *cut, *below]


def _cut(request: PermissionRequest, left: int, cells: int, *, unicode: bool) -> Text:
    dots = "…" if unicode else "..."
    said = f"{_INDENT}{dots} {count(left, 'more line')}: swarm permissions {reference(request)}"
    return _drawn_line(clipped(said, cells, unicode=unicode), "bold yellow")


def clipped(text: str, cells: int, *, unicode: bool) -> str:
    """Return a line in at most so many cells; one that is cut ends in dots."""
    dots = "…" if unicode else "..."
    pieces = wrap(text, cells)
    if len(pieces) == 1:
        return text
    return wrap(text, max(1, cells - len(dots)))[0] + dots


def _drawn_line(text: str, style: str = "") -> Text:
    return Text(text, style=style, no_wrap=True, overflow="crop")
