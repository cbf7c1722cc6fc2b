"""Waiting costs nothing that grows: not with the tasks of the team, and not with time."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from swarm.core.identity import USER
from swarm.core.task import Requires
from tests.support.worker_process import WorkerProcess, make_quick_team, quick

pytestmark = pytest.mark.soak

SECONDS = 300
SHARE = 0.001


def test_an_idle_worker_among_ten_thousand_tasks_needs_a_thousandth_of_a_core(tmp_path: Path) -> None:
    """Heartbeats, checks and sweeps of five minutes are in it."""
    team = make_quick_team(tmp_path, "w1", "w2")
    team.tasks(USER).create(*(quick(requires=Requires(agent="w2")) for _ in range(10_000)))
    with WorkerProcess(team, "w1") as worker:
        before = worker.cpu_seconds()
        time.sleep(SECONDS)
        used = worker.cpu_seconds() - before
    team.close()

    assert used < SHARE * SECONDS
