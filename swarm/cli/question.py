"""One question on a screen: who wants what, what exactly would happen, why it is asked, what `always` means.

Every line of foreign text stands behind a bar, so that it cannot be taken for one of ours.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import islice

from rich.text import Text

from swarm.cli.asked_call import is_plan, one_line
from swarm.cli.exact_text import exact
from swarm.cli.question_body import INDENT, LEAST_CELLS, Body, a_line, body_of, own_lines, row_lines
from swarm.cli.render import ago, count
from swarm.cli.row import Row
from swarm.core.breaking import pieces, width, wrap_words
from swarm.core.permission import PermissionRequest, called
from swarm.core.times import parse_time

_THEN = ", then it counts as no"
_KEPT_BLANK = "\N{NO-BREAK SPACE}"  # one of an agent's is shown as an escape
_LEAST_BODY = 4  # lines of the call that are worth more than the reason beside it


def question_lines(
    request: PermissionRequest,
    columns: int | None,
    rows: int | None,
    *,
    unicode: bool = True,
    color: bool = True,
    now: float | None = None,
    answered: bool = False,
    team: str | None = None,
) -> list[Text]:
    """Return the question in lines that fit; what has no room is counted, and it is said where to see it.

    Without `rows` nothing is left out, without `columns` nothing is broken; one row is a summary.
    `answered`: as it was asked, without what an answer would do now. `team` stands in the commands that show
    the rest.
    """
    cells = columns or sys.maxsize
    clock = (time.time() if now is None else now) if not answered else None
    if rows == 1:
        lines = [a_line(clipped(summary(request, unicode=unicode), cells, unicode=unicode))]
    else:
        body = body_of(request, cells, rows, unicode=unicode, compare=not answered)
        head, brief = ([*one, *body.warnings] for one in _heads(request, cells, clock, unicode=unicode))
        tail = [*_tail(request, cells, answered=answered, unicode=unicode)]
        below = [*body.lines, *(line for part in tail for line in part)]
        if rows is not None and len(head) + len(below) > rows:
            head = brief
        lines = [*head, *below]
        if rows is not None and (len(lines) > rows or not body.whole):
            more = f"swarm permissions {reference(request)}"
            more += f" -t {exact(team, unicode=unicode)}" if team else ""
            lines = _fitted(more, head, body, tail, rows, cells, unicode=unicode)
    return lines if color else [a_line(line.plain) for line in lines]


def reference(request: PermissionRequest) -> str:
    """Return how people call a question: by its number, or by its id where it has none."""
    return request.id if request.number is None else str(request.number)


def _who(request: PermissionRequest, *, unicode: bool) -> str:
    task = "" if request.task is None else f" (task {exact(request.task, unicode=unicode)})"
    what = "hands in a plan" if is_plan(request) else f"wants {exact(request.tool, unicode=unicode)}"
    return f"{exact(request.agent, unicode=unicode)}{task} {what}"


def summary(request: PermissionRequest, *, unicode: bool) -> str:
    """Return it in one line of any length."""
    what = exact(one_line(request), unicode=unicode)
    return f"{exact(called(request), unicode=unicode)} {_who(request, unicode=unicode)}: {what}"


def _heads(
    request: PermissionRequest, cells: int, now: float | None, *, unicode: bool
) -> tuple[list[Text], list[Text]]:
    """Return who wants what, and for how long it can be answered; and the same in the fewest lines."""
    who = f"{exact(called(request), unicode=unicode)} {_who(request, unicode=unicode)}"
    left = "" if now is None else time_left(request, now)
    where = "" if is_plan(request) else f" in {exact(_from_home(request.cwd), unicode=unicode)}"
    until = left and ", " + left.replace(" ", _KEPT_BLANK)
    told = f"{who}{where}{until}"
    brief = _in_lines(told, cells)
    whole = _in_lines(told + _THEN, cells) if left.endswith("left") else brief
    return whole, whole if len(whole) == len(brief) else brief


def _in_lines(told: str, cells: int) -> list[Text]:
    broken = wrap_words(told, max(LEAST_CELLS, cells - len(INDENT)))
    first, *rest = (piece.replace(_KEPT_BLANK, " ") for piece in broken)
    return [a_line(first, "bold yellow"), *(a_line(INDENT + piece, "bold yellow") for piece in rest)]


def _from_home(path: str) -> str:
    home = os.environ.get("HOME", "").rstrip("/")
    return f"~{path.removeprefix(home)}" if home and path.startswith(f"{home}/") else path


def time_left(request: PermissionRequest, now: float) -> str:
    """Return how long an answer is waited for; nothing if that cannot be told."""
    try:
        left = parse_time(request.deadline_at) - now
    except (ValueError, OverflowError):
        return ""
    return f"{ago(left)} left" if left > 0 else "its time is over"


def _tail(request: PermissionRequest, cells: int, *, answered: bool, unicode: bool) -> Iterator[list[Text]]:
    """Yield why it is asked, and what `always` means; a rule that is long stands behind the bar, too."""
    if request.why.strip():
        yield own_lines(f"why: {request.why.strip()}", cells, unicode=unicode)
    if answered:
        return
    rule = request.suggested_rule
    if rule:
        told = own_lines(f"always: adds the rule {rule} for the whole team", cells, unicode=unicode)
        if len(told) == 1:
            yield told
        else:
            said = own_lines("always: adds this rule for the whole team:", cells, unicode=unicode)
            yield [*said, *row_lines(Row(text=rule), cells, unicode=unicode)]
    elif not is_plan(request):
        yield own_lines("always: not possible, no single rule would allow it", cells, unicode=unicode)


def _fitted(
    more: str,
    head: Sequence[Text],
    body: Body,
    tail: Sequence[Sequence[Text]],
    rows: int,
    cells: int,
    *,
    unicode: bool,
) -> list[Text]:
    """Return as much as there is room for: the call before the reason, and never a part without saying so."""
    kept = list(tail)
    least = min(len(body.lines), _LEAST_BODY)
    while kept and len(head) + least + sum(map(len, kept)) > rows:
        kept.pop(0)
    below = [line for part in kept for line in part]
    room = rows - len(head) - len(below)
    lost = 0 if kept or not tail else len(tail[-1])  # nobody says always to a rule that he cannot see
    if body.whole and room > 0 and len(body.lines) + bool(lost) <= room:
        shown = list(body.lines)
    else:
        shown = [*head, *body.lines][: max(0, rows - len(below) - 1)][len(head) :]
        lost += len(body.lines) - len(shown)
    over = "" if body.whole else "over "
    cut = [_cut(more, over, lost, cells, unicode=unicode)] if lost else []
    return [*head[: max(1, rows - len(shown) - len(cut) - len(below))], *shown, *cut, *below]


def _cut(more: str, over: str, left: int, cells: int, *, unicode: bool) -> Text:
    dots = "…" if unicode else "..."
    said, brief = (
        f"{INDENT}{dots} {over}{what}: {more}" for what in (count(left, "more line"), f"{left} more")
    )
    fits = width(said) <= cells
    return a_line(clipped(said if fits else brief, cells, unicode=unicode), "bold yellow")


def clipped(text: str, cells: int, *, unicode: bool) -> str:
    """Return a line in at most so many cells; one that is cut ends in dots."""
    dots = "…" if unicode else "..."
    if len(list(islice(pieces(text, cells), 2))) == 1:
        return text
    return next(pieces(text, max(1, cells - len(dots)))) + dots
