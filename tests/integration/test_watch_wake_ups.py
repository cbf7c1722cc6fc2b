"""A teammate in a process of its own is awake at once when there is work for it, and else does nothing."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

import pytest

from swarm.core.identity import LEADER, USER
from swarm.core.message import shutdown_request
from swarm.core.task import Requires, TaskResult
from swarm.core.times import format_time
from swarm.storage.mail import send
from swarm.storage.team import Team
from swarm.testing.wait import wait_until
from tests.support.worker_process import WorkerProcess, make_quick_team, quick

LONG = 30.0
"""Time scale at which nobody looks by himself before a test is over."""
NO_INOTIFY = ("unshare", "-Ur", "sh", "-c", 'echo 0 > /proc/sys/user/max_inotify_instances; exec "$0" "$@"')


def can_go_without_inotify() -> bool:
    return os.system("unshare -Ur sh -c 'echo 0 > /proc/sys/user/max_inotify_instances' 2>/dev/null") == 0


@pytest.fixture
def team(tmp_path: Path):
    made = make_quick_team(tmp_path, "w1", "w2")
    yield made
    made.close()


def release_blocker(team: Team) -> str:
    """Return a task that has just become available, by the end of the one it waited for."""
    store = team.tasks(USER)
    (blocker,) = store.create(quick(requires=Requires(agent="me")))
    (task,) = store.create(quick(blocked_by=(blocker.id,)))
    held = store.claim("me", None, "k3v9qd7m.me.cli", blocker.id)
    store.complete(blocker.id, held.claim.token, TaskResult(summary="Done."))  # type: ignore[union-attr]
    return task.id


def test_a_task_that_becomes_available_is_claimed_without_waiting(team: Team) -> None:
    with WorkerProcess(team, "w1", time_scale=LONG) as worker:
        for _ in range(3):
            worker.until_holds(release_blocker(team), timeout=5)
            worker.until_idle()


def test_an_order_by_mail_is_obeyed_without_waiting(team: Team) -> None:
    with WorkerProcess(team, "w1", time_scale=LONG) as worker:
        now = format_time(team.clock.now())
        send(team, LEADER, "w1", shutdown_request(LEADER, "w1", now))

        assert worker.process.wait(timeout=5) == 0


def test_mail_for_others_and_tasks_for_others_are_no_work(team: Team) -> None:
    """It stays idle, and says so once."""
    with WorkerProcess(team, "w1", time_scale=LONG):
        for number in range(5):
            send(team, LEADER, "w2", f"hello {number}")
            send(team, LEADER, "w1", f"thanks {number}")
        release_blocker_for_other(team)

        idle = [e for _, e in team.events.read() if (e.event, e.agent) == ("agent_idle", "w1")]
        assert len(idle) == 1


def release_blocker_for_other(team: Team) -> None:
    team.tasks(USER).create(quick(requires=Requires(agent="w2")))


def test_only_the_own_mail_and_the_journal_are_watched(team: Team) -> None:
    """Two watches, neither recursive, whatever else lies in the team's folders."""
    with WorkerProcess(team, "w1", time_scale=LONG) as worker:
        open_files = Path(f"/proc/{worker.process.pid}/fdinfo").iterdir()
        watches = sum(text_of(info).count("inotify wd") for info in open_files)

        assert watches == 2


def text_of(info: Path) -> str:
    """Return what the kernel says of an open file; nothing of one that has been closed meanwhile."""
    with suppress(FileNotFoundError):
        return info.read_text()
    return ""


@pytest.mark.skipif(not can_go_without_inotify(), reason="needs user namespaces to limit inotify")
def test_without_inotify_it_looks_each_second_and_says_so_once(team: Team) -> None:
    with WorkerProcess(team, "w1", time_scale=0.2, before=NO_INOTIFY) as worker:
        worker.until_holds(release_blocker(team), timeout=2)
        worker.until_idle()
        worker.until_holds(release_blocker(team), timeout=2)

    log = Path(team.layout.log("w1")).read_text()
    assert log.count("team files not watched") == 1
    assert "max_user_instances" in log


def test_idle_among_many_tasks_costs_next_to_nothing(team: Team) -> None:
    """The goal is a thousandth of a core; ten times that is what no busy machine turns red."""
    store = team.tasks(USER)
    store.create(*(quick(requires=Requires(agent="w2")) for _ in range(1_500)))
    with WorkerProcess(team, "w1") as worker:
        before, started = worker.cpu_seconds(), time.monotonic()
        wait_until(lambda: time.monotonic() - started > 2)
        used = worker.cpu_seconds() - before

    assert used < 0.01 * 2
