"""What a person sees while a run goes: a live view on a terminal, plain lines elsewhere.

Both read the team's files only. The view fits 80x24 and follows the size of the terminal.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from swarm.cli.events import event_line
from swarm.cli.render import printable
from swarm.cli.session import Io
from swarm.core.agent import AgentRecord
from swarm.core.identity import LEADER
from swarm.core.signs import SIGNS
from swarm.core.table import TaskTable
from swarm.core.task import Task
from swarm.leader.activity import Activity, last_activity
from swarm.storage.team import Team

_COLORS = {"purple": "magenta", "orange": "dark_orange", "pink": "hot_pink"}
_FRAME_SECONDS = 0.1
_BESIDE_ROWS = 6  # lines that neither list takes: the head, blank ones, "and more", where the cursor is
_BESIDE_AGENTS = _BESIDE_ROWS + 3
_AGENTS_LEAST = 3
_QUIET = frozenset({"team_created", "task_created", "agent_ready", "mail_sent", "mail_acknowledged"})


class LiveView:
    """Redraws the run in place, about ten times a second. Use as a context manager.

    A terminal that was closed is not an error: nobody looks any more.
    """

    def __init__(self, team: Team, console: Console) -> None:
        self._team = team
        self._started = time.monotonic()
        self._live = Live(console=console, auto_refresh=False, transient=False, vertical_overflow="crop")
        self._console = console
        self._next = 0.0
        ascii_only = not console.encoding.lower().startswith("utf")
        self._symbols = {state: signs[ascii_only] for state, signs in SIGNS.items()}

    def __enter__(self) -> Self:
        with suppress(OSError):
            self._live.start()
        return self

    def __exit__(self, *exc: object) -> None:
        last = self._draw()
        with suppress(OSError):
            self._live.update(last, refresh=True)
        with suppress(OSError):
            self._live.stop()

    def look(self) -> None:
        """Redraw, unless the last frame is too young."""
        now = time.monotonic()
        if now >= self._next:
            self._next = now + _FRAME_SECONDS
            frame = self._draw()
            with suppress(OSError):
                self._live.update(frame, refresh=True)

    def _draw(self) -> RenderableType:
        team = self._team
        table = team.tasks(LEADER).table()
        roster = team.roster.load()
        records = [r for m in roster.members if m.name != LEADER and (r := team.agents.load(m.name))]
        colors = {m.name: m.color or "" for m in roster.members}
        agents = busiest(records, self._console.height - _BESIDE_AGENTS)
        activities = {r.name: last_activity(team.layout.transcript(r.name)) for r in agents}
        left = len(records) - len(agents)
        rows = max(3, self._console.height - len(agents) - bool(left) - _BESIDE_ROWS)
        head = headline(team.name, roster.description or "", time.monotonic() - self._started, table.counts())
        return Group(
            head,
            Text(),
            tasks_table(table, colors, rows, self._symbols),
            Text(),
            agents_table(agents, activities, colors, left),
        )


def headline(name: str, description: str, elapsed: float, counts: dict[str, int]) -> Text:
    """Return the first line: name, what it is for, how far, how long."""
    total = sum(counts[s] for s in ("pending", "in_progress", "completed", "failed", "cancelled"))
    line = Text(no_wrap=True, overflow="ellipsis")
    line.append(" swarm ", style="bold reverse")
    line.append(f" {printable(name)}", style="bold")
    line.append(f"  {counts['completed']}/{total} done", style="green")
    if counts["failed"]:
        line.append(f", {counts['failed']} failed", style="red")
    line.append(f"  {int(elapsed) // 60:02d}:{int(elapsed) % 60:02d}")
    if description:
        line.append(f"  {printable(description)}", style="dim")
    return line


def tasks_table(
    table: TaskTable, colors: dict[str, str], rows: int, symbols: dict[str, str]
) -> RenderableType:
    """Return the task list; of a long one the finished tasks are left out first."""
    tasks = list(table.tasks())
    hidden = len(tasks) - rows
    if hidden > 0:
        finished = [task for task in tasks if task.status == "completed"][:hidden]
        tasks = [task for task in tasks if task not in finished][:rows]
    grid = Table.grid(padding=(0, 1))
    grid.add_column(no_wrap=True)
    grid.add_column(justify="right", no_wrap=True)
    grid.add_column(no_wrap=True, overflow="ellipsis", ratio=3)
    grid.add_column(no_wrap=True, overflow="ellipsis", ratio=2)
    grid.expand = True
    for task in tasks:
        grid.add_row(*_task_row(task, table, colors, symbols))
    if hidden > 0:
        grid.add_row("", "", Text(f"… and {hidden} more", style="dim"), "")
    return grid


def _task_row(
    task: Task, table: TaskTable, colors: dict[str, str], symbols: dict[str, str]
) -> tuple[Text, ...]:
    blockers = table.open_blockers(task.id)
    state = task.status if task.status != "pending" else "blocked" if blockers else "ready"
    if state == "blocked":
        who = Text("waits for " + ", ".join(blockers), style="dim")
    else:
        who = Text(printable(task.owner or state), style=_style(colors.get(task.owner or "", "")))
    if task.attempts and not task.finished:
        who.append(f"  attempt {task.attempts + 1}", style="yellow")
    subject = Text(printable(task.subject), style="dim" if state in ("blocked", "cancelled") else "")
    return Text(f" {symbols[state]}", style=SIGNS[state][2]), Text(task.id, style="dim"), subject, who


def busiest(records: Sequence[AgentRecord], room: int) -> list[AgentRecord]:
    """Return as many as there is room for, beside a line for the rest: those at work before the others."""
    if len(records) <= max(_AGENTS_LEAST, room):
        return list(records)
    first = sorted(records, key=lambda record: record.state != "working")[: max(_AGENTS_LEAST, room) - 1]
    return [record for record in records if record in first]


def agents_table(
    records: Iterable[AgentRecord], activities: dict[str, Activity], colors: dict[str, str], left: int = 0
) -> RenderableType:
    """Return who does what now; `left` more have no line of their own."""
    grid = Table.grid(padding=(0, 1))
    grid.add_column(no_wrap=True)
    grid.add_column(no_wrap=True)
    grid.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
    grid.expand = True
    for record in records:
        name = Text(f" {printable(record.name)}", style=f"bold {_style(colors.get(record.name, ''))}".strip())
        grid.add_row(name, _state_text(record), _doing(record, activities[record.name]))
    if left:
        grid.add_row(Text(" …", style="dim"), Text(f"and {left} more", style="dim"), "")
    return grid


def _state_text(record: AgentRecord) -> Text:
    if record.state == "working":
        return Text(f"task {record.task}" if record.task else "working", style="yellow")
    reason = f" ({record.reason.replace('_', ' ')})" if record.reason else ""
    return Text(f"{record.state}{reason}", style="dim")


def _doing(record: AgentRecord, activity: Activity) -> Text:
    if record.state != "working":
        return Text(printable(activity.said), style="dim")
    line = Text()
    if activity.tool:
        line.append(f"{printable(activity.tool)} ", style="cyan")
        line.append(printable(activity.target))
    if activity.said:
        line.append(f"  {printable(activity.said)}", style="dim")
    return line


def _style(color: str) -> str:
    return _COLORS.get(color, color)


class PlainLines:
    """One line per event that matters, for pipes, logs and CI; from this place in the event log on."""

    def __init__(self, team: Team, io: Io, since: int = 0) -> None:
        self._team = team
        self._io = io
        self._offset = since

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.look()

    def look(self) -> None:
        """Print what happened since the last look."""
        for offset, event in self._team.events.read(self._offset):
            self._offset = offset + 1  # inside this line: its torn rest is no event
            if event.event not in _QUIET:
                self._io.note(event_line(event))
