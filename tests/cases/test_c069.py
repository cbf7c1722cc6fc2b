"""When the queue of file events was full, the kernel dropped some, and nobody noticed what they had told."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path

import pytest

from swarm.core.identity import LEADER, USER
from swarm.core.task import Requires, Task, TaskResult
from swarm.storage.mail import send
from swarm.storage.team import Team
from swarm.testing.wait import wait_until
from tests.support.pausing import go_on, pause
from tests.support.worker_process import WorkerProcess, make_quick_team, quick

pytestmark = pytest.mark.timeout(60)

FILES = 20_000
LONG = 30.0
"""Time scale at which the worker would look by itself much too late."""


@pytest.fixture
def team(tmp_path: Path):
    made = make_quick_team(tmp_path, "w1")
    yield made
    made.close()


def storm(team: Team) -> Iterator[None]:
    """Create and delete files everywhere in the team's folders and the project, a thousand at a time."""
    layout = team.layout
    folders = [layout.team_dir, layout.inboxes_dir, layout.tasks_dir, str(Path(team.root).parent / "work")]
    for number, folder in zip(range(FILES), cycle(folders), strict=False):
        path = f"{folder}/noise-{number}"
        fd = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
        os.write(fd, b"x")
        os.close(fd)
        os.unlink(path)
        if number % 1_000 == 999:
            yield


def blocked_tasks(team: Team, count: int) -> list[tuple[Task, str]]:
    """Return, for each of so many tasks, the claimed task that it waits for and its own id."""
    store, pairs = team.tasks(USER), []
    for number in range(count):
        (blocker,) = store.create(quick(requires=Requires(agent=f"me-{number}")))
        (task,) = store.create(quick(blocked_by=(blocker.id,)))
        held = store.claim(f"me-{number}", None, f"k3v9qd7m.me-{number}.cli", blocker.id)
        assert isinstance(held, Task)
        pairs.append((held, task.id))
    return pairs


def complete(team: Team, blocker: Task) -> None:
    assert blocker.claim is not None
    team.tasks(USER).complete(blocker.id, blocker.claim.token, TaskResult(summary="Done."))


def test_everything_is_acted_on_after_a_burst(team: Team) -> None:
    """Twenty messages and five tasks that become available, in the middle of twenty thousand files."""
    pairs, sent = blocked_tasks(team, 5), []
    with WorkerProcess(team, "w1") as worker:
        for number, _ in enumerate(storm(team)):
            (result,) = send(team, LEADER, "w1", f"message {number}")
            sent.append(result.msg_id)
            if number % 4 == 3:
                complete(team, pairs[number // 4][0])
        wait_until(lambda: done(team, pairs), timeout=10, what="five tasks are done")
        worker.until_idle()

    assert [message.msg_id for message in team.inbox("w1").history()] == sent
    assert team.inbox("w1").peek() == ()


def test_what_the_kernel_dropped_is_looked_for(team: Team) -> None:
    """The worker stands still until its queue is full, and the change that matters comes after that."""
    pairs = blocked_tasks(team, 1)
    queue = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    if queue * 2 > FILES * 3:
        pytest.skip(f"the kernel keeps {queue} file events (fs.inotify.max_queued_events): too many to fill")
    with WorkerProcess(team, "w1", time_scale=LONG) as worker:
        pause(worker.process, team)
        try:
            for number in range(queue + 1):
                with open(f"{team.layout.inboxes_dir}/noise-{number % 2}", "a") as file:
                    file.write("x")
            complete(team, pairs[0][0])
        finally:
            go_on(worker.process)

        worker.until_holds(pairs[0][1], timeout=10)


def done(team: Team, pairs: list[tuple[Task, str]]) -> bool:
    table = team.tasks(USER).table()
    return all(table.get(task_id).status == "completed" for _, task_id in pairs)
