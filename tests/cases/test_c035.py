"""A lock that a killed process left, or half of a lock file, blocked everybody for good."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from swarm.core.task import Task
from swarm.storage.dead import free_dead_claims
from swarm.storage.team import Team
from tests.support.command import Ended, Shell
from tests.support.racers import Racer
from tests.support.stores import check_tasks, make_team, reopened

pytestmark = pytest.mark.timeout(60)

ROUNDS = 8
ROUNDS_LONG = 50
LIMIT_SECONDS = 10.0
WORKS = """
import os
from swarm.core.agent import AgentRecord
from swarm.core.times import format_time
from swarm.storage import processes
at = format_time(team.clock.now())
run_id = f"k3v9qd7m.{name}.1"
team.agents.save(AgentRecord(
    name=name, run_id=run_id, backend="process", state="working", since=at, started_at=at,
    host=processes.host(), boot_id=processes.boot_id(), pid_ns=processes.pid_ns(),
    pid=os.getpid(), start_ticks=processes.own_start_ticks(),
))
store = team.tasks(name)
say("working")
while True:
    store.create(NewTask(subject=name))
    task = store.claim(name, None, run_id)
    team.agents.update_life(run_id, task=task.id)
    send(team, name, LEADER, task.id)
    store.complete(task.id, task.claim.token, TaskResult(summary="done"))
"""


@pytest.fixture
def team(tmp_path: Path) -> Iterator[Team]:
    made = make_team(tmp_path / "home" / ".claude")
    yield made
    made.close()


@pytest.fixture
def shell(team: Team, tmp_path: Path) -> Shell:
    (tmp_path / "cwd").mkdir()
    return Shell(tmp_path / "home", tmp_path / "cwd")


def works_in_time(shell: Shell, *words: str) -> Ended:
    started = time.monotonic()
    ended = shell.swarm(*words)
    assert ended.code == 0, ended.err
    assert time.monotonic() - started < LIMIT_SECONDS
    return ended


def kill_a_worker(team: Team, number: int, chance: random.Random) -> None:
    worker = Racer(Path(team.root), f"v{number}", WORKS)
    try:
        worker.wait_ready()
        worker.go()
        assert worker.heard() == "working"
        time.sleep(chance.uniform(0.0, 0.02))
    finally:
        worker.end()


def goes_on(team: Team, number: int) -> None:
    """What the killed one held is free, everything can be read, and somebody else works."""
    started = time.monotonic()
    now = reopened(team)
    free_dead_claims(now, lambda life: None)
    store = now.tasks("w1")
    store.list_tasks()
    claimed = store.claim("w1", None, f"k3v9qd7m.w1.{number + 1}", None)
    if isinstance(claimed, Task):
        assert claimed.claim is not None
        store.release(claimed.id, claimed.claim.token, "only looked")
    assert now.tasks("w1").table().in_progress() == ()
    assert time.monotonic() - started < LIMIT_SECONDS
    check_tasks(now)
    now.close()


def kill_workers(team: Team, rounds: int) -> None:
    chance = random.Random(35)
    for number in range(rounds):
        kill_a_worker(team, number, chance)
        goes_on(team, number)


def test_after_a_worker_was_killed_at_any_moment_the_next_command_works(team: Team, shell: Shell) -> None:
    kill_workers(team, ROUNDS)
    works_in_time(shell, "task", "list")
    works_in_time(shell, "task", "add", "first")
    works_in_time(shell, "task", "claim", "--as", "w1")


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_the_same_for_long(team: Team) -> None:
    kill_workers(team, ROUNDS_LONG)


def test_after_a_command_was_killed_at_any_moment_the_next_one_works(team: Team, shell: Shell) -> None:
    chance = random.Random(36)
    for _ in range(4):
        killed = shell.start("task", "add", "perhaps")
        time.sleep(chance.uniform(0.05, 0.3))
        killed.kill()
        killed.communicate()
        works_in_time(shell, "task", "list")
    works_in_time(shell, "task", "add", "certainly")
    works_in_time(shell, "task", "claim", "--as", "w1")
    check_tasks(team)


@pytest.mark.parametrize("left", [b"", b"\0\xffgarbage 4711", b"4711 8812345 somebody" * 10])
def test_an_empty_lock_file_or_one_of_garbage_blocks_nobody(team: Team, shell: Shell, left: bytes) -> None:
    """A lock is held by a process; what stands in its file holds nothing."""
    works_in_time(shell, "task", "add", "first")
    works_in_time(shell, "send", "w1", "hello")
    planted = [path for path in Path(team.layout.locks_dir).iterdir() if path.is_file()]
    assert len(planted) >= 3
    for path in planted:
        path.write_bytes(left)

    works_in_time(shell, "task", "list")
    works_in_time(shell, "task", "claim", "--as", "w1")
    works_in_time(shell, "send", "w1", "hello again")
    check_tasks(team)
