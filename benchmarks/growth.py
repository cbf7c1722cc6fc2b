"""What must not grow: a claim with the number of tasks, a message with the number of unread ones.

All without waiting for the disk (`durability: none`), which would cover the difference that is looked for.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path

from benchmarks.measuring import FULL, Effort, Row
from swarm.core.identity import LEADER
from swarm.core.message import Message
from swarm.core.roster import Member
from swarm.core.task import NewTask, Task, TaskResult
from swarm.settings import Settings
from swarm.storage.clock import SystemClock
from swarm.storage.mail import send
from swarm.storage.tasks import TaskStore
from swarm.storage.team import Team, create_team

_SETTINGS = Settings(durability="none")
_AT = "2026-11-30T12:00:00.000Z"


def rows(effort: Effort = FULL) -> list[Row]:
    """Each with the least beside the most."""
    return _claims(effort) + _sends(effort)


def _claims(effort: Effort) -> list[Row]:
    least, most = effort.sizes[0], effort.sizes[-1]
    with tempfile.TemporaryDirectory() as few, tempfile.TemporaryDirectory() as many:
        stores = {"least": _store(Path(few), least), "most": _store(Path(many), most)}
        taken: dict[str, list[float]] = {name: [] for name in stores}
        for _ in range(effort.rounds):
            for name, store in stores.items():
                taken[name].append(_claim_seconds(store, effort.times))
    medians = {name: statistics.median(times) for name, times in taken.items()}
    return [Row(f"claim, {most:,} tasks", medians["most"], f"claim, {least:,} tasks", medians["least"])]


def _store(folder: Path, size: int) -> TaskStore:
    store = _team(folder).tasks("w1")
    store.create(*(NewTask(subject=f"Task {number}") for number in range(size)))
    return store


def _claim_seconds(store: TaskStore, times: int) -> float:
    """Return the median of some claims; the task is completed in between, untimed."""
    taken = []
    for _ in range(times):
        started = time.perf_counter()
        task = store.claim("w1", None, "benchrun.w1.1")
        taken.append(time.perf_counter() - started)
        assert isinstance(task, Task)
        assert task.claim is not None
        store.complete(task.id, task.claim.token, TaskResult(summary="done"))
    return statistics.median(taken)


def _sends(effort: Effort) -> list[Row]:
    found = []
    for waiting in effort.waiting:
        with tempfile.TemporaryDirectory() as few, tempfile.TemporaryDirectory() as many:
            none, some = _Mailbox(Path(few), 0), _Mailbox(Path(many), waiting)
            for _ in range(effort.rounds * effort.times):
                none.send()
                some.send()
        found.append(Row(f"send, {waiting:,} waiting", some.median(), "send, 0 waiting", none.median()))
    return found


class _Mailbox:
    """An inbox in which so many messages wait at each send."""

    def __init__(self, folder: Path, waiting: int) -> None:
        self._team = _team(folder)
        self._team.roster.add_member(
            Member(agent_id="w1@bench", name="w1", joined_at=0, cwd=str(folder), color="blue")
        )
        self._waiting = waiting
        self._taken: list[float] = []
        inbox = self._team.inbox("w1")
        for number in range(waiting):
            inbox.deliver(
                Message(sender=LEADER, to="w1", text="hello", timestamp=_AT, msg_id=f"message-{number}")
            )

    def send(self) -> None:
        started = time.perf_counter()
        (sent,) = send(self._team, LEADER, "w1", "hello")
        self._taken.append(time.perf_counter() - started)
        if self._waiting < _SETTINGS.inbox_max_messages and sent.msg_id:
            self._team.inbox("w1").acknowledge([sent.msg_id])

    def median(self) -> float:
        return statistics.median(self._taken)


def _team(folder: Path) -> Team:
    return create_team(
        str(folder / "R"), "bench", workspace=str(folder), settings=_SETTINGS, clock=SystemClock()
    )
