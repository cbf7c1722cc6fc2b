"""From a change of the team's files to the process that waits for it, against a bare inotify read."""

from __future__ import annotations

import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.consumer import wake_up_call
from benchmarks.measuring import Row
from swarm.core.identity import LEADER, USER
from swarm.core.task import Requires, Task, TaskResult
from swarm.storage.mail import send
from swarm.storage.team import Team
from swarm.storage.watch import Watch
from tests.support.worker_process import WorkerProcess, make_quick_team, quick

_TIMES = 40
_PAUSE_SECONDS = 0.1
_IDLE_SECONDS = 10.0
_BUDGET = 0.001
_BARE = """
import os, sys, time
from inotify_simple import INotify, flags
inotify = INotify()
inotify.add_watch(sys.argv[1], flags.MODIFY)
print("ready", flush=True)
while True:
    inotify.read()
    print(time.monotonic(), flush=True)
"""
_RECEIVER = """
import sys, time
from swarm.settings import Settings
from swarm.storage.clock import SystemClock
from swarm.storage.team import open_team
from swarm.storage.watch import Watch, files_of_agents
team = open_team(sys.argv[1], "demo", Settings(durability="none"), SystemClock())
inbox = team.inbox("w2")
with Watch(files_of_agents(team.layout, ["w2"])) as watch:
    print("ready", flush=True)
    while True:
        watch.wait(1.0)
        mail = inbox.peek()
        if mail:
            print(time.monotonic(), flush=True)
            inbox.acknowledge([message.msg_id for message in mail])
            watch.take()
"""


_HUEY = "import sys; from benchmarks.consumer import serve; serve(sys.argv[1])"


def rows() -> list[Row]:
    found = []
    with tempfile.TemporaryDirectory() as folder:
        queue = str(Path(folder) / "huey.db")
        huey = _delivered(_HUEY, queue, wake_up_call(queue)[1])
    for size in (10, 10_000):
        with tempfile.TemporaryDirectory() as folder:
            team = make_quick_team(Path(folder), "w1", "w2")
            others = (quick(requires=Requires(agent="w2")) for _ in range(size))
            team.tasks(USER).create(*others)
            found += _measured(team, size, Path(folder) / "bare", huey)
            team.close()
    return found


def _measured(team: Team, size: int, bare_file: Path, huey: float) -> list[Row]:
    bare_file.touch()
    bare = _delivered(_BARE, str(bare_file), lambda: _append(bare_file))
    mail = _delivered(_RECEIVER, team.root, lambda: send(team, LEADER, "w2", "hello"))
    with WorkerProcess(team, "w1") as worker:
        idle = _idle(worker)
        claimed = statistics.median(_claimed(team, worker) for _ in range(_TIMES))
    return [
        Row(f"available -> claimed, {size:,} tasks", claimed, "bare inotify", bare),
        Row(f"available -> claimed, {size:,} tasks", claimed, "huey SQLite, queued -> running", huey),
        Row(f"mail sent -> received, {size:,} tasks", mail, "bare inotify", bare),
        Row(f"CPU of an idle worker per second, {size:,} tasks", idle, "0.1 % of a core", _BUDGET),
    ]


def _claimed(team: Team, worker: WorkerProcess) -> float:
    """One task becomes available by the end of its blocker, which another process writes."""
    worker.until_idle()
    store = team.tasks(USER)
    (blocker,) = store.create(quick(requires=Requires(agent="me")))
    (task,) = store.create(quick(blocked_by=(blocker.id,)))
    held = store.claim("me", None, "k3v9qd7m.me.cli", blocker.id)
    assert isinstance(held, Task)
    assert held.claim is not None
    time.sleep(_PAUSE_SECONDS)
    with Watch([team.layout.journal]) as watch:
        started = time.monotonic()
        store.complete(blocker.id, held.claim.token, TaskResult(summary="Done."))
        while store.table().get(task.id).claim is None:
            watch.wait(1.0)  # looking all the time would take a core from the worker
        return time.monotonic() - started


def _delivered(code: str, argument: str, change: Callable[[], object]) -> float:
    """Return how long after the start of a change its receiver has it, in the median."""
    receiver = subprocess.Popen(
        [sys.executable, "-c", code, argument], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert receiver.stdout is not None
    try:
        receiver.stdout.readline()
        taken = []
        for _ in range(_TIMES):
            time.sleep(_PAUSE_SECONDS)
            started = time.monotonic()
            change()
            taken.append(float(receiver.stdout.readline()) - started)
    finally:
        os.killpg(receiver.pid, signal.SIGKILL)  # huey's consumer has children
        receiver.communicate()
    return statistics.median(taken)


def _append(path: Path) -> None:
    with path.open("a") as file:
        file.write("x\n")


def _idle(worker: WorkerProcess) -> float:
    """Return the processor time for one second of idleness: heartbeat, checks and all."""
    before, started = worker.cpu_seconds(), time.monotonic()
    time.sleep(_IDLE_SECONDS)
    return (worker.cpu_seconds() - before) / (time.monotonic() - started)
