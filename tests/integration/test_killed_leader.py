"""`kill -9` of the leader at random moments, in each backend: `swarm resume` ends the run as if nothing was.

One seed of each; `tests/soak/test_random_kills.py` plays many.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from swarm.testing.wait import wait_until
from tests.support.kill_runs import TEAMMATES, a_killed_run, kill_leaders
from tests.support.private_tmux import needs_tmux

pytestmark = pytest.mark.timeout(120)

TASKS = 9


@pytest.mark.parametrize("backend", ["in-process", "process", pytest.param("tmux", marks=needs_tmux)])
def test_a_run_whose_leader_is_killed_twice_is_ended_by_the_third(tmp_path: Path, backend: str) -> None:
    """The second one while it takes up the run; where teammates are processes, some of them die, too."""
    with a_killed_run(tmp_path, backend, TASKS, owned=True) as run:
        ended = kill_leaders(run, random.Random(1), 2, workers=backend != "in-process")

        assert run.leaders == 2
        run.check(ended)


@pytest.mark.parametrize("backend", ["process", pytest.param("tmux", marks=needs_tmux)])
def test_what_orphans_gave_back_is_done_by_their_next_lives(tmp_path: Path, backend: str) -> None:
    """Nobody came in time: they gave their tasks back, said why, and went. It costs no attempt."""
    with a_killed_run(tmp_path, backend, TASKS) as run:
        going = run.begin(SWARM_TIME_SCALE="0.02")
        wait_until(lambda: set(run.states().values()) == {"working"}, timeout=30, what="all are at work")
        run.kill_leader(going)
        orphaned = dict.fromkeys(TEAMMATES, "orphaned")
        wait_until(lambda: run.states() == orphaned, timeout=30, what="all have given up")

        def reasons() -> set[str | None]:
            open_tasks = [task for task in run.tasks() if task["status"] == "pending"]
            return {task["metadata"]["swarm"].get("reason") for task in open_tasks}

        wait_until(lambda: "orphaned" in reasons(), timeout=30, what="a task was given back, with the reason")
        assert reasons() <= {None, "orphaned"}
        run.check(run.end(run.begin()))
