"""What the live view shows, gathered from the team's files: the same whoever drives the run.

A look costs what has changed since the last one, beside one small record for each teammate.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Mapping, Sequence

from swarm.cli.events import event_line, event_style
from swarm.cli.render import ago
from swarm.core.agent import AgentRecord
from swarm.core.fields import EMPTY
from swarm.core.identity import LEADER
from swarm.core.permission import PermissionRequest, called
from swarm.core.roster import Member, Roster
from swarm.core.table import TaskTable
from swarm.core.task import Task, name_tasks
from swarm.core.times import parse_time
from swarm.leader.activity import Activity, TranscriptTail
from swarm.storage import syscalls
from swarm.storage.leadership import UNKNOWN, state_of
from swarm.storage.team import Team
from swarm.values import Value

_NO_NEWS = frozenset(
    """
    team_created run_started task_created agent_ready agent_idle agent_waiting agent_continued
    mail_acknowledged permission_requested
    """.split()
)
"""What the rest of the frame shows anyway, or nobody wants to know; mail to the leader likewise."""
_NEWS_BYTES, _NEWS_KEPT = 16 * 1024, 32
_ALL = ("pending", "in_progress", "completed", "failed", "cancelled")
_WAITS = {"plan": "plan to be read", "rate_limit": "service busy", "leader_gone": "leader is gone"}
_IDLE = {"no_task": "no task", "budget_spent": "no money left", "finished": "all done"}
_ENDED = {"killed": "killed", "failed": "failed", "orphaned": "leader was gone"}


class TaskRow(Value):
    """One task. `state` is a key of SIGNS; `waits` are the blockers that hold it back."""

    id: str
    state: str
    subject: str
    owner: str = ""
    waits: tuple[str, ...] = ()
    attempt: int = 1


class AgentRow(Value):
    """One teammate. `state` is as readers see it, `why` says more in a few words, `asks` names a question."""

    name: str
    state: str
    color: str = ""
    why: str = ""
    task: str = ""
    asks: str | None = None
    activity: Activity = Activity()


class Sight(Value):
    """All that one frame shows. Money is in micro-dollars; `limit` is None without a budget.

    `happened` are the last events as lines with their styles.
    """

    team: str
    description: str = ""
    elapsed: float = 0.0
    done: int = 0
    failed: int = 0
    total: int = 0
    spent: int = 0
    limit: int | None = None
    read: int = 0
    written: int = 0
    tasks: tuple[TaskRow, ...] = ()
    agents: tuple[AgentRow, ...] = ()
    questions: tuple[PermissionRequest, ...] = ()
    happened: tuple[tuple[str, str], ...] = ()
    colors: Mapping[str, str] = EMPTY


class Looker:
    """Gathers sights of one team. What has not changed on disk is not read again."""

    def __init__(self, team: Team, by: str = LEADER) -> None:
        self._team = team
        self._by = by
        self._started = time.monotonic()
        self._tails: dict[str, TranscriptTail] = {}
        self._records: dict[str, tuple[object, AgentRecord | None]] = {}
        self._roster: tuple[object, Roster] | None = None
        self._rows: tuple[object, tuple[TaskRow, ...]] = None, ()
        self._news = News(team)

    def look(self, questions: Iterable[PermissionRequest] = ()) -> Sight:
        """Return what is there now; `questions` are those that somebody may answer, oldest first."""
        team, asked = self._team, tuple(questions)
        roster = self._load_roster()
        store = team.tasks(self._by)
        mark = store.change_mark()
        table, costs = store.table(), team.costs.table()
        if mark != self._rows[0]:
            self._rows = mark, task_rows(table)
        counts, used = table.counts(), costs.total.usage
        return Sight(
            team=team.name,
            description=roster.description or "",
            elapsed=time.monotonic() - self._started,
            done=counts["completed"],
            failed=counts["failed"],
            total=sum(counts[status] for status in _ALL),
            spent=costs.total.micros,
            limit=costs.limit,
            read=used.prompt_tokens,
            written=used.output_tokens,
            tasks=self._rows[1],
            agents=tuple(self._agents(roster, table, asked)),
            questions=asked,
            happened=self._news.look(),
            colors={member.name: member.color or "" for member in roster.members},
        )

    def _load_roster(self) -> Roster:
        stamp = _stamp(self._team.layout.config)
        if self._roster is None or stamp != self._roster[0]:
            self._roster = stamp, self._team.roster.load()
        return self._roster[1]

    def _agents(
        self, roster: Roster, table: TaskTable, questions: tuple[PermissionRequest, ...]
    ) -> Iterable[AgentRow]:
        numbers = {question.id: called(question) for question in questions}
        for member in roster.members:
            record = self._record(member.name) if member.name != LEADER else None
            if record is None:
                continue
            tail = self._tails.get(member.name)
            if tail is None:
                path = self._team.layout.transcript(member.name)
                tail = self._tails[member.name] = TranscriptTail(path)
            state, silent = state_of(self._team, record)
            state = record.state if state == UNKNOWN else state
            yield AgentRow(
                name=member.name,
                state=state,
                color=member.color or "",
                why=why(record, state, silent, self._team.clock.now(), _needed(table, member, record)),
                task=record.task or "",
                asks=numbers.get(record.on or "") if record.reason in ("permission", "plan") else None,
                activity=tail.look(),
            )

    def _record(self, name: str) -> AgentRecord | None:
        stamp = _stamp(self._team.layout.agent(name))
        known = self._records.get(name)
        if known is None or known[0] != stamp:
            known = self._records[name] = stamp, self._team.agents.load(name)
        return known[1]


class News:
    """The last lines of what happened. A look reads what was added, the first one the end of the log."""

    def __init__(self, team: Team) -> None:
        self._team = team
        self._size, self._offset = -1, 0
        self._lines: deque[tuple[str, str]] = deque(maxlen=_NEWS_KEPT)

    def look(self) -> tuple[tuple[str, str], ...]:
        found = syscalls.find_stat(self._team.layout.events)
        size = 0 if found is None else found.st_size
        if size != self._size:
            start = max(0, size - _NEWS_BYTES) if self._size < 0 else self._offset
            self._size = size
            for offset, event in self._team.events.read(start):
                self._offset = offset + 1  # inside this line: its torn rest is no event
                if event.event not in _NO_NEWS and event.data.get("to") != LEADER:
                    self._lines.append((event_line(event, day=False), event_style(event)))
        return tuple(self._lines)


def _stamp(path: str) -> object:
    """Return what differs once a file was replaced: every file of ours is, never changed in its place."""
    state = syscalls.find_stat(path)
    return None if state is None else (state.st_ino, state.st_mtime_ns, state.st_size)


def task_rows(table: TaskTable) -> tuple[TaskRow, ...]:
    return tuple(_task_row(task, table) for task in table.tasks())


def _task_row(task: Task, table: TaskTable) -> TaskRow:
    waits = table.open_blockers(task.id) if task.status == "pending" else ()
    state = task.status if task.status != "pending" else "blocked" if waits else "ready"
    meant = task.requires and (task.requires.agent or task.requires.role)
    return TaskRow(
        id=task.id,
        state=state,
        subject=task.subject,
        owner=task.owner or (f"for {meant}" if meant and state == "ready" else ""),
        waits=waits,
        attempt=1 if task.finished else task.attempts + 1,
    )


def _needed(table: TaskTable, member: Member, record: AgentRecord) -> tuple[str, ...]:
    """Return the tasks that an idle agent waits for: all that hold back the next one that is for it."""
    if record.reason != "waiting_for_task" or record.on is None:
        return ()
    expected = table.lowest_expected(member.name, member.role)
    blockers = table.open_blockers(expected) if expected is not None else ()
    return blockers if record.on in blockers else (record.on,)


def why(record: AgentRecord, state: str, silent: float | None, now: float, needed: Sequence[str] = ()) -> str:
    """Return in a few words why an agent is in this state; empty where the state says it all.

    `needed` are the tasks that it waits for.
    """
    reason = record.reason or ""
    if state == "stalled":
        return f"silent {ago(silent or 0.0)}"
    if state == "waiting":
        words = _WAITS.get(reason, reason.replace("_", " "))
        left = _left(record.until, now)
        return f"{words}, {left}" if left and reason != "permission" else words
    if state == "idle":
        if needed:
            return f"needs {name_tasks(needed)}"
        return _IDLE.get(reason, reason.replace("_", " "))
    return _ENDED.get(reason, "") if state == "stopped" else ""


def _left(until: str | None, now: float) -> str:
    try:
        return ago(parse_time(until) - now) if until else ""
    except ValueError:
        return ""
