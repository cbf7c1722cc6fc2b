"""Several threads of one process, with stores in common and of their own."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from swarm.core.identity import LEADER
from swarm.core.task import NewTask, Task, TaskResult
from swarm.storage.clock import SystemClock
from swarm.storage.layout import Layout
from swarm.storage.mail import send
from swarm.storage.team import Team
from tests.support.oracle import History
from tests.support.stores import SETTINGS, check_tasks, make_team

NAMES = tuple(f"t{number}" for number in range(6))
TASKS = 60


def opened(root: Path) -> Team:
    settings = SETTINGS.replace(lock_timeout_seconds=15.0)
    return Team(Layout(root=str(root)).team("demo"), settings, SystemClock())


@pytest.mark.parametrize("shared", [True, False], ids=["one team object", "each its own"])
def test_threads_neither_wait_for_themselves_nor_share_a_claim(tmp_path: Path, shared: bool) -> None:
    """The kernel would let them all in: to it they are one process."""
    make_team(tmp_path).tasks("user").create(*(NewTask(subject=f"task {n}") for n in range(TASKS)))
    common = opened(tmp_path)

    def work(name: str) -> int:
        team = common if shared else opened(tmp_path)
        store, inbox, done = team.tasks("threads" if shared else name), team.inbox(LEADER), 0
        while isinstance(task := store.claim(name, None, f"k3v9qd7m.{name}.1"), Task):
            assert task.claim is not None
            send(team, name, LEADER, f"{name} {done}")
            store.edit(task.id, {"description": f"by {name}"})
            store.complete(task.id, task.claim.token, TaskResult(summary=name))
            inbox.acknowledge([message.msg_id for message in inbox.peek()])
            done += 1
        return done

    with ThreadPoolExecutor(len(NAMES)) as threads:
        done = dict(zip(NAMES, threads.map(work, NAMES), strict=True))

    assert sum(done.values()) == TASKS
    check_tasks(opened(tmp_path))
    assert History(common).statuses() == {"completed": TASKS}
    heard = [message.text for message in common.inbox(LEADER).history()]
    assert sorted(heard) == sorted(f"{name} {n}" for name in NAMES for n in range(done[name]))
