"""What competes for claims: the task store, huey, a plain SQLite queue, and the least that a journal needs.

Each is filled once in a folder. In a worker process, `steps` yields after each task that was claimed and
completed, and ends when nothing is left.
"""

from __future__ import annotations

import fcntl
import json
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

from huey import SqliteHuey

from swarm.core.task import NewTask, Task, TaskResult
from swarm.settings import Settings
from swarm.storage.clock import SystemClock
from swarm.storage.team import create_team, open_team

_LAYER = 100
_BUSY_SECONDS = 30.0
_ROOM = 1_024


class Queue(Protocol):
    """One kind of queue with its durability."""

    name: str

    def fill(self, folder: Path, size: int) -> None: ...

    def steps(self, folder: Path, worker: str) -> Iterator[None]: ...


class Ours:
    """The store as the worker and the command line use it: dependencies, tokens, events, readable files."""

    def __init__(self, durability: str) -> None:
        self.name = f"swarm, durability {durability}"
        self._settings = Settings(durability=durability)

    def fill(self, folder: Path, size: int) -> None:
        """Make layers of 100 tasks; each task waits for two of the layer before."""
        team = create_team(
            str(folder / "R"), "bench", workspace=str(folder), settings=_UNSYNCED, clock=SystemClock()
        )
        team.tasks("user").create(*(_task(number) for number in range(1, size + 1)))
        team.close()

    def steps(self, folder: Path, worker: str) -> Iterator[None]:
        team = open_team(str(folder / "R"), "bench", self._settings, SystemClock())
        store = team.tasks(worker)
        store.table()
        yield
        while True:
            task = store.claim(worker, None, f"benchrun.{worker}.1")
            if isinstance(task, Task):
                assert task.claim is not None
                store.complete(task.id, task.claim.token, TaskResult(summary="done"))
                yield
            elif store.table().counts()["pending"]:
                time.sleep(0.0005)  # a layer's last tasks are under way
            else:
                return


_UNSYNCED = Settings(durability="none")


def _task(number: int) -> NewTask:
    above = number - _LAYER
    blockers = {above, above - 1 if (above - 1) % _LAYER else above + _LAYER - 1} if above > 0 else set()
    return NewTask(subject=f"Task {number}", blocked_by=tuple(str(one) for one in sorted(blockers)))


class Huey:
    """What huey's consumer does for each task: dequeue, execute, store the result."""

    def __init__(self, *, fsync: bool | None) -> None:
        self.name = f"huey SQLite, fsync {'on (its default)' if fsync is None else 'off'}"
        self._fsync = fsync

    def fill(self, folder: Path, size: int) -> None:
        huey, done = _huey(folder, fsync=False)
        for _ in range(size):
            done()
        huey.storage.close()

    def steps(self, folder: Path, worker: str) -> Iterator[None]:
        huey, _ = _huey(folder, fsync=self._fsync)
        yield
        while (task := huey.dequeue()) is not None:
            huey.execute(task)
            yield


def _huey(folder: Path, *, fsync: bool | None) -> tuple[Any, Callable[[], object]]:
    huey = SqliteHuey("bench", filename=str(folder / "huey.db"), fsync=fsync, timeout=_BUSY_SECONDS)

    @huey.task()  # type: ignore[untyped-decorator]
    def done() -> str:
        return "done"

    return huey, done


class Raw:
    """The least that an SQLite queue must do: one transaction to take the lowest row, one to finish it.

    It knows no dependencies, tokens, events or readable files.
    """

    def __init__(self, synchronous: str) -> None:
        self.name = f"raw SQLite WAL, synchronous {synchronous}"
        self._synchronous = synchronous

    def fill(self, folder: Path, size: int) -> None:
        queue = self._connect(folder)
        queue.execute("create table task (id integer primary key, status text, owner text)")
        queue.execute("create index ready on task (status, id)")
        queue.execute("begin")
        queue.executemany("insert into task values (?, 'pending', null)", ((n,) for n in range(size)))
        queue.execute("commit")
        queue.close()

    def steps(self, folder: Path, worker: str) -> Iterator[None]:
        queue = self._connect(folder)
        yield
        while (number := self._take(queue, worker)) is not None:
            queue.execute("update task set status = 'completed' where id = ? and owner = ?", (number, worker))
            yield

    def _connect(self, folder: Path) -> sqlite3.Connection:
        queue = sqlite3.connect(folder / "raw.db", isolation_level=None, timeout=_BUSY_SECONDS)
        queue.execute("pragma journal_mode=wal")
        queue.execute(f"pragma synchronous={self._synchronous}")
        return queue

    @staticmethod
    def _take(queue: sqlite3.Connection, worker: str) -> int | None:
        found = queue.execute(
            "update task set status = 'in_progress', owner = ? where id ="
            " (select id from task where status = 'pending' order by id limit 1) returning id",
            (worker,),
        ).fetchall()
        return found[0][0] if found else None


class Bare:
    """The bare loop of our protocol: lock, read the journal's tail, append a line, write one file in place.

    No tokens, dependencies, events, checks or repair: what is left for them is the distance to this.
    """

    name = "bare loop: lock, line, file"

    def fill(self, folder: Path, size: int) -> None:
        (folder / "lock").touch()
        (folder / "journal").touch()
        (folder / "size").write_text(str(size))
        for number in range(size):
            (folder / f"{number}.json").write_bytes(b" " * _ROOM)

    def steps(self, folder: Path, worker: str) -> Iterator[None]:
        lock = os.open(folder / "lock", os.O_RDWR)
        journal = os.open(folder / "journal", os.O_RDWR | os.O_APPEND)
        size, offset, following = int((folder / "size").read_text()), 0, 0
        yield
        while following < size:
            held: int | None = None
            for status in ("in_progress", "completed"):
                fcntl.flock(lock, fcntl.LOCK_EX)
                tail = os.pread(journal, 1 << 20, offset)
                offset += len(tail)
                for line in map(json.loads, tail.splitlines()):
                    following = max(following, line["id"] + 1)
                held = following if held is None else held
                if held < size:
                    self._write(folder, journal, {"id": held, "status": status, "owner": worker})
                fcntl.flock(lock, fcntl.LOCK_UN)
            yield

    @staticmethod
    def _write(folder: Path, journal: int, task: dict[str, Any]) -> None:
        os.write(journal, json.dumps(task).encode() + b"\n")
        file = os.open(folder / f"{task['id']}.json", os.O_RDWR)
        os.pwrite(file, json.dumps(task, indent=2).encode().ljust(_ROOM), 0)
        os.close(file)
