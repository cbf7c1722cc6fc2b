"""Claim and complete through the function that the worker and the command line call, against plain SQLite.

The SQLite side does the least that a queue must: one transaction to take the lowest row, one to finish it
(WAL, synchronous off as in `durability: none`); it knows no dependencies, tokens, events or readable files.
"""

from __future__ import annotations

import sqlite3
import tempfile
from functools import partial
from pathlib import Path

from benchmarks.measuring import Row, interleaved
from swarm.core.task import NewTask, Task, TaskResult
from swarm.settings import Settings
from swarm.storage.clock import SystemClock
from swarm.storage.tasks import TaskStore
from swarm.storage.team import create_team

_TIMES = 50
_ROUNDS = 5


def rows() -> list[Row]:
    """One claim and completion, in a team of 100, 1,000 and 10,000 tasks."""
    found = []
    for size in (100, 1_000, 10_000):
        with tempfile.TemporaryDirectory() as folder:
            ours, theirs = _store(Path(folder), size), _queue(Path(folder) / "queue.db", size)
            turns = min(_TIMES, size // (_ROUNDS + 1))
            taken = interleaved(
                _ROUNDS, {"ours": partial(_ours, ours, turns), "raw": partial(_raw, theirs, turns)}
            )
            theirs.close()
        found.append(
            Row(
                f"claim+complete, {size:,} tasks",
                taken["ours"] / turns,
                "raw SQLite WAL",
                taken["raw"] / turns,
            )
        )
    return found


def _store(folder: Path, size: int) -> TaskStore:
    settings = Settings(durability="none")
    team = create_team(
        str(folder / "R"), "bench", workspace=str(folder), settings=settings, clock=SystemClock()
    )
    store = team.tasks("w1")
    store.create(*(NewTask(subject=f"Task {number}") for number in range(size)))
    return store


def _ours(store: TaskStore, times: int) -> None:
    for _ in range(times):
        task = store.claim("w1", None, "benchrun.w1.1")
        assert isinstance(task, Task)
        assert task.claim is not None
        store.complete(task.id, task.claim.token, TaskResult(summary="done"))


def _queue(path: Path, size: int) -> sqlite3.Connection:
    queue = sqlite3.connect(path, isolation_level=None)
    queue.execute("pragma journal_mode=wal")
    queue.execute("pragma synchronous=off")
    queue.execute("create table task (id integer primary key, status text, owner text)")
    queue.execute("create index ready on task (status, id)")
    queue.execute("begin")
    queue.executemany("insert into task values (?, 'pending', null)", ((n,) for n in range(size)))
    queue.execute("commit")
    return queue


def _raw(queue: sqlite3.Connection, times: int) -> None:
    for _ in range(times):
        queue.execute("begin immediate")
        (number,) = queue.execute(
            "select id from task where status = 'pending' order by id limit 1"
        ).fetchone()
        queue.execute("update task set status = 'in_progress', owner = 'w1' where id = ?", (number,))
        queue.execute("commit")
        queue.execute("begin immediate")
        queue.execute("update task set status = 'completed' where id = ? and owner = 'w1'", (number,))
        queue.execute("commit")
