"""Taking one lock twice in one process, through two objects, waited for ever."""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path

import pytest

from swarm.core.identity import LEADER
from swarm.core.task import NewTask
from swarm.errors import LockTimeoutError
from swarm.storage.clock import SystemClock
from swarm.storage.lock import FileLock
from swarm.storage.team import Team
from tests.support.command import REPOSITORY
from tests.support.stores import SETTINGS, make_team
from tests.support.verbs import verb

pytestmark = pytest.mark.timeout(60)  # many processes, for a machine that is busy with others

LIMIT = 5.0


@pytest.fixture
def team(tmp_path: Path) -> Team:
    return Team(make_team(tmp_path).layout, SETTINGS, SystemClock())


def test_a_second_object_for_a_held_lock_is_refused_at_once(team: Team) -> None:
    """Waiting for oneself would not help."""
    path = team.layout.lock("roster")
    started = time.monotonic()
    with FileLock(path, SETTINGS, team.clock, "first"):
        second = FileLock(path, SETTINGS, team.clock, "second")
        with pytest.raises(LockTimeoutError):
            second.acquire()

    assert time.monotonic() - started < 1
    with second:
        pass


def test_leader_and_teammate_in_one_process_work_at_the_same_time(team: Team, tmp_path: Path) -> None:
    """Each has objects of its own for the same files."""
    done: list[str] = []

    def work(name: str) -> None:
        own = Team(team.layout, SETTINGS.replace(lock_timeout_seconds=LIMIT), SystemClock())
        for number in range(10):
            (task,) = own.tasks(name).create(NewTask(subject=f"{name} {number}"))
            assert verb(tmp_path, "send", LEADER if name == "w1" else "w1", "hi", "--as", name).code == 0
            own.tasks(name).cancel(task.id, "not needed")
        done.append(name)

    started = time.monotonic()
    threads = [threading.Thread(target=work, args=(name,)) for name in ("w1", "w2")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(done) == ["w1", "w2"]
    assert time.monotonic() - started < LIMIT
    assert len(team.tasks("user").list_tasks()) == 20


def test_a_check_may_ask_and_change_the_team_whose_task_it_checks(tmp_path: Path) -> None:
    """No lock is held while it runs."""
    swarm = f"env PYTHONPATH={REPOSITORY} {sys.executable} -m swarm"
    check = (
        f"{swarm} task show 1 --json > seen && {swarm} task add more && {swarm} send team-lead checking && "
        f"{swarm} task edit 1 --description checked"
    )
    assert verb(tmp_path, "team", "create", "demo", "--workspace", str(tmp_path)).code == 0
    assert verb(tmp_path, "task", "add", "checked", "--verify", check).code == 0
    assert verb(tmp_path, "task", "claim", "1", "--as", "w1").code == 0

    started = time.monotonic()
    ended = verb(tmp_path, "task", "complete", "1", "--as", "w1", "--json", PATH="/usr/bin:/bin")

    assert ended.code == 0, ended.err
    assert time.monotonic() - started < 2 * LIMIT  # four starts of a command are in it
    assert (ended.json()["status"], ended.json()["description"]) == ("completed", "checked")
    assert '"status": "in_progress"' in (tmp_path / "seen").read_text()
