"""When a blocker was completed, the worker that waited for it did not start until somebody wrote to it."""

from __future__ import annotations

from pathlib import Path

import pytest

from swarm.core.identity import USER
from swarm.core.task import Requires
from swarm.storage.team import Team
from swarm.testing.wait import wait_until
from tests.support.command import Shell
from tests.support.worker_process import WorkerProcess, make_quick_team, quick

LONG = 30.0
"""Time scale at which the worker would look by itself much too late."""
MINE = Requires(agent="me")


@pytest.fixture
def team(tmp_path: Path):
    made = make_quick_team(tmp_path, "w1")
    yield made
    made.close()


def finish_by_command(team: Team, task_id: str) -> None:
    """Claim and complete a task as a person does, in processes of their own."""
    home = Path(team.root).parent
    shell = Shell(home, home)
    for verb in ("claim", "complete"):
        ended = shell.swarm("task", verb, task_id, "--as", "me", CLAUDE_CONFIG_DIR=team.root)
        assert ended.code == 0, ended.err


def test_the_waiting_worker_claims_the_task_with_no_message_sent(team: Team) -> None:
    blocker, task = team.tasks(USER).create(quick(requires=MINE), quick(blocked_by=("1",)))
    with WorkerProcess(team, "w1", time_scale=LONG) as worker:
        finish_by_command(team, blocker.id)

        worker.until_holds(task.id, timeout=5)
    assert (team.inbox("w1").peek(), team.inbox("w1").history()) == ((), ())


def test_the_last_task_of_a_diamond_waits_for_both_its_sides(team: Team) -> None:
    store = team.tasks(USER)
    store.create(
        quick(requires=MINE),
        quick(blocked_by=("1",)),
        quick(blocked_by=("1",), requires=MINE),
        quick(blocked_by=("2", "3")),
    )
    with WorkerProcess(team, "w1", time_scale=LONG) as worker:
        finish_by_command(team, "1")
        wait_until(lambda: store.table().get("2").finished, what="one side is done")
        worker.until_idle()
        assert store.table().get("4").claim is None

        finish_by_command(team, "3")
        worker.until_holds("4", timeout=5)
