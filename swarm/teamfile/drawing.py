"""A plan drawn for a terminal.

load-user: 4 tasks in 3 waves

 1  ● map      Find every caller         researcher
    ├─╮
 2  ● api      Use it in the API         builder
    │ ○ bill   Use it in billing         builder
    ├─╯
 3  ● check    Run all tests             verifier

● critical path, 3 tasks: map → api → check
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from swarm.core import breaking
from swarm.core.signs import SIGNS
from swarm.core.task import STATUSES
from swarm.teamfile.graph import acyclic, without_shortcuts
from swarm.teamfile.lanes import ASCII, Lanes
from swarm.teamfile.plan import Plan, PlannedTask, one_line
from swarm.values import Value

_SIGNS = {"pending": SIGNS["ready"][0]} | {
    status: sign for status, (sign, _, _) in SIGNS.items() if status in STATUSES
}
_ID_CELLS_MIN = 8
_LABEL_CELLS_MIN = 12
_LANES_MAX = 16
_ALL_GLYPHS = "│─├┤╮╯╭╰┬◂▸→…" + "".join(_SIGNS.values())


class _Row(Value):
    """One line of the drawing; `task` is None in lines that only lead from one task to another."""

    lanes: str
    task: PlannedTask | None = None
    opens_wave: bool = False


def draw(plan: Plan, *, width: int = 80, encoding: str = "utf-8") -> str:
    """Draw the plan in at most `width` cells, in plain ASCII where the encoding has no better."""
    fine = _can_show(encoding)
    rows = list(_rows(plan))
    if max((len(row.lanes) for row in rows), default=0) > 2 * _LANES_MAX:
        rows = [_Row(lanes=_symbol(t), task=t, opens_wave=new) for t, new in _in_waves(plan)]
    lines = [_headline(plan)]
    if rows:
        lines += ["", *_table(rows, width, fine=fine), "", *_footer(plan, width, fine=fine)]
    return "\n".join(line.rstrip() for line in lines).encode(encoding, "replace").decode(encoding) + "\n"


def _can_show(encoding: str) -> bool:
    try:
        _ALL_GLYPHS.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True


def _headline(plan: Plan) -> str:
    tasks, waves = _counted(len(plan.tasks), "task"), _counted(len(plan.waves), "wave")
    return f"{one_line(plan.name)}: {tasks} in {waves}"


def _counted(count: int, word: str) -> str:
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def _in_waves(plan: Plan) -> Iterator[tuple[PlannedTask, bool]]:
    by_id = {task.node.id: task for task in plan.tasks}
    for wave in plan.waves:
        for position, node in enumerate(wave):
            yield by_id[node], position == 0


def _rows(plan: Plan) -> Iterator[_Row]:
    dependents = _dependents(plan)
    lanes = Lanes()
    was_task = False
    for task, opens_wave in _in_waves(plan):
        if opens_wave and was_task and lanes.spacer():
            yield _Row(lanes=lanes.spacer())
        first, *lines = lanes.place(task.node.id, _symbol(task), dependents[task.node.id])
        yield _Row(lanes=first, task=task, opens_wave=opens_wave)
        yield from (_Row(lanes=line) for line in lines)
        was_task = not lines


def _dependents(plan: Plan) -> dict[str, list[str]]:
    waits = without_shortcuts(acyclic({task.node.id: task.node.blocked_by for task in plan.tasks}))
    found: dict[str, list[str]] = {node: [] for node in waits}
    for node, blockers in waits.items():
        for blocker in blockers:
            found[blocker].append(node)
    return found


def _symbol(task: PlannedTask) -> str:
    if task.node.status is None:
        return "●" if task.critical else "○"
    return _SIGNS.get(task.node.status, _SIGNS["pending"])


def _table(rows: list[_Row], width: int, *, fine: bool) -> Iterator[str]:
    tasks = [row.task.node for row in rows if row.task]
    lanes = max((len(row.lanes) for row in rows), default=0)
    ids = min(max((breaking.width(node.id) for node in tasks), default=0), max(width // 4, _ID_CELLS_MIN))
    owners = max((breaking.width(_owner(row.task)) for row in rows if row.task), default=0)
    owners = min(owners, max(width // 4, _ID_CELLS_MIN))
    labels = max((breaking.width(one_line(node.label)) for node in tasks), default=0)
    room = width - len("  1  ") - lanes - ids - owners - 5
    labels = max(min(labels, room), _LABEL_CELLS_MIN)
    more = "…" if fine else "~"
    for row in rows:
        drawn = row.lanes if fine else row.lanes.translate(ASCII)
        wave = f"{row.task.wave:>3}" if row.task and row.opens_wave else "   "
        text = f"{wave}  {drawn:<{lanes}}"
        if row.task:
            cells = [(row.task.node.id, ids), (one_line(row.task.node.label), labels)]
            cells.append((_owner(row.task), owners))
            text += " " + "  ".join(_fit(one, size, more) for one, size in cells).rstrip()
        yield text


def _owner(task: PlannedTask) -> str:
    return one_line(task.node.owner or "")


def _fit(text: str, size: int, more: str) -> str:
    if breaking.width(text) > size:
        text = breaking.wrap(text, size - 1)[0].rstrip() + more
    return text + " " * (size - breaking.width(text))


def _footer(plan: Plan, width: int, *, fine: bool) -> Iterator[str]:
    arrow = " → " if fine else " -> "
    statuses = [status for status in _SIGNS if any(t.node.status == status for t in plan.tasks)]
    legend = "   ".join(f"{_SIGNS[status]} {status}" for status in statuses)
    if legend:
        yield legend if fine else legend.translate(ASCII)
    mark = "" if legend else "● " if fine else "* "
    length = _counted(len(plan.critical_path), "task")
    path = f"{mark}critical path, {length}: {arrow.join(plan.critical_path)}"
    yield from textwrap.wrap(
        path, width, subsequent_indent="  ", break_on_hyphens=False, break_long_words=False
    )
    for cycle in plan.cycles:
        yield f"cycle, none of these can start: {arrow.join(reversed(cycle))}"
