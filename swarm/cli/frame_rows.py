"""The two lists of the live view: tasks, and who does what now. What has no room is counted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from rich.text import Text

from swarm.cli.cells import cut, side_by_side
from swarm.cli.exact_text import label
from swarm.cli.sight import AgentRow, TaskRow
from swarm.core.signs import SIGNS

_COLORS = {"purple": "magenta", "orange": "dark_orange", "pink": "hot_pink"}
_TASK_RANK = {"in_progress": 0, "failed": 1, "ready": 2, "blocked": 3, "cancelled": 4, "completed": 5}
_WORDS = {"in_progress": "in progress", "completed": "done"}
_BAD = frozenset({"dead", "stalled", "orphaned"})
_AGENT_RANK = {"working": 2, "waiting": 3, "starting": 3, "paused": 3, "idle": 4}
_LAST = 5
_WAITS_SHOWN = 4
_OWNER_CELLS, _STATE_CELLS, _NAME_CELLS = 28, 30, 20
_TARGET_CELLS = 48
_LEAST_SAID = 12
_NARROW = 60

_Row = TypeVar("_Row")


def task_lines(
    rows: Sequence[TaskRow], colors: Mapping[str, str], columns: int, room: int, *, unicode: bool
) -> list[Text]:
    """Return the tasks in at most `room` lines; those that are worked on or failed stay longest."""
    kept, left = _most_telling(rows, room, _task_rank)
    owner_cells = min(_OWNER_CELLS, columns // 3)
    cells = [_task_cells(row, colors, owner_cells, unicode=unicode) for row in kept]
    lines = side_by_side(cells, columns, flexible=1, unicode=unicode) if cells else []
    if left and room > 0:
        words = (_WORDS.get(row.state, row.state) for row in left)
        lines.append(_rest(words, len(left), columns, unicode=unicode))
    return lines


def _task_rank(row: TaskRow) -> float:
    """Return how soon a task is left out; of those that are done the last ones stay longest."""
    rank = _TASK_RANK[row.state]
    return rank + 1 / (int(row.id) + 1) if row.state == "completed" else rank


def _task_cells(row: TaskRow, colors: Mapping[str, str], cells: int, *, unicode: bool) -> tuple[Text, ...]:
    fancy, plain, style = SIGNS[row.state]
    number = Text(f" {fancy if unicode else plain} ", style=style)
    number.append(row.id.rjust(2), style="dim")
    subject_style = "dim" if row.state in ("blocked", "cancelled", "completed") else ""
    if row.state == "blocked":
        waits = ", ".join(row.waits[:_WAITS_SHOWN])
        more = len(row.waits) - _WAITS_SHOWN
        said = f"waits for {waits} and {more} more" if more > 0 else f"waits for {waits}"
        who = Text(cut(said, cells, unicode=unicode), style="dim")
    else:
        owner = label(row.owner, unicode=unicode)
        who = Text(cut(owner, cells, unicode=unicode), style=_style(colors.get(row.owner, "")))
    if row.attempt > 1:
        who.append(f"{'  ' if who else ''}try {row.attempt}", style="yellow")
    return number, Text(label(row.subject, unicode=unicode), style=subject_style), who


def agent_lines(
    rows: Sequence[AgentRow], columns: int, room: int, *, unicode: bool, tall: bool = False
) -> list[Text]:
    """Return the teammates in at most `room` lines; those that ask or are in trouble stay longest.

    `tall`: each has a second line, in which stands what it said last.
    """
    kept, left = _most_telling(rows, room // 2 if tall else room, _agent_rank)
    cells = [_agent_cells(row, columns, unicode=unicode, alone=tall) for row in kept]
    lines = side_by_side(cells, columns, flexible=2, unicode=unicode) if cells else []
    if tall:
        said = (Text(f"   {label(row.activity.said, unicode=unicode)}", style="dim") for row in kept)
        lines = [line for pair in zip(lines, said, strict=True) for line in pair]
    if left and room > 0:
        lines.append(_rest((row.state for row in left), len(left), columns, unicode=unicode))
    return lines


def _agent_rank(row: AgentRow) -> int:
    if row.asks is not None:
        return 0
    if row.state in _BAD or (row.state == "stopped" and row.why):
        return 1
    return _AGENT_RANK.get(row.state, _LAST)


def _agent_cells(row: AgentRow, columns: int, *, unicode: bool, alone: bool) -> tuple[Text, ...]:
    room = min(_NAME_CELLS, columns // 4)
    name = Text(
        f" {cut(label(row.name, unicode=unicode), room, unicode=unicode)}",
        style=f"bold {_style(row.color)}".rstrip(),
    )
    room = min(_STATE_CELLS, columns * 3 // 8)
    said, style = _state_of(row)
    state = Text(cut(label(said, unicode=unicode), room, unicode=unicode), style=style)
    return name, state, _doing(row, columns, unicode=unicode, alone=alone)


def _state_of(row: AgentRow) -> tuple[str, str]:
    task = f", task {row.task}" if row.task else ""
    if row.asks is not None:
        return f"asks {row.asks}{task}", "bold yellow"
    if row.state == "working":
        return (f"task {row.task}" if row.task else "working"), "yellow"
    style = "red" if row.state in _BAD or (row.state == "stopped" and row.why) else "dim"
    if row.state in ("waiting", "paused", "starting"):
        style = "cyan"
    why = f": {row.why}" if row.why else ""
    return f"{row.state}{why}{task}", style


def _doing(row: AgentRow, columns: int, *, unicode: bool, alone: bool) -> Text:
    """Return the last tool with what it works on, and unless that is to stand `alone` the last line said."""
    activity, line = row.activity, Text()
    said = "" if alone else label(activity.said, unicode=unicode)
    if activity.tool and (row.state == "working" or row.asks is not None):
        tool = label(activity.tool, unicode=unicode)
        line.append(tool, style="cyan" if activity.is_running else "dim cyan")
        room = max(_LEAST_SAID, min(_TARGET_CELLS, columns // 3)) if said else columns
        target = cut(label(activity.target, unicode=unicode), room, unicode=unicode)
        line.append(f" {target}" if target else "", style="" if activity.is_running else "dim")
    if said and not (line and columns < _NARROW):
        line.append(f"{'  ' if line else ''}{said}", style="dim")
    return line


def event_lines(happened: Sequence[tuple[str, str]], columns: int, room: int, *, unicode: bool) -> list[Text]:
    """Return what happened last, the newest at the bottom."""
    shown = happened[-room:] if room > 0 else ()
    return [
        Text(
            f" {cut(label(line, unicode=unicode), columns - 1, unicode=unicode)}",
            style=f"dim {style}".rstrip(),
        )
        for line, style in shown
    ]


def _most_telling(
    rows: Sequence[_Row], room: int, rank: Callable[[_Row], float]
) -> tuple[list[_Row], list[_Row]]:
    """Return those that are shown, in their order, and those for which there is but the line that counts."""
    if len(rows) <= room:
        return list(rows), []
    places = sorted(range(len(rows)), key=lambda at: rank(rows[at]))[: max(0, room - 1)]
    kept = set(places)
    return [rows[at] for at in sorted(kept)], [row for at, row in enumerate(rows) if at not in kept]


def _rest(words: Iterable[str], count: int, columns: int, *, unicode: bool) -> Text:
    """Return the line that counts what has no line of its own."""
    counted: dict[str, int] = {}
    for word in words:
        counted[word] = counted.get(word, 0) + 1
    parts = ", ".join(f"{number} {word}" for word, number in counted.items())
    dots = "…" if unicode else "..."
    return Text(cut(f" {dots} {count} more: {parts}", columns, unicode=unicode), style="dim")


def _style(color: str) -> str:
    return _COLORS.get(color, color)
