"""Workers and leaders killed at random moments: no task is lost, and nothing is done twice unmarked."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.kill_runs import KilledRun, a_killed_run, kill_leaders, kill_workers
from tests.support.private_tmux import needs_tmux

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1800)]

RUNS = 20
KILLS = 5
OWN_PROCESSES = ["process", pytest.param("tmux", marks=needs_tmux)]
ALL = ["in-process", *OWN_PROCESSES]


@pytest.fixture
def run(tmp_path: Path, seed: int, backend: str) -> Iterator[KilledRun]:
    """A run of its own kind for each seed: whoever may take a task or its owner, with a repository or not."""
    with a_killed_run(tmp_path, backend, owned=seed % 2 == 1, commits=seed % 4 >= 2) as made:
        yield made
        print("kills:", made.kills)  # noqa: T201 - for who wants to know, with -rP


@pytest.mark.parametrize("backend", OWN_PROCESSES)
@pytest.mark.parametrize("seed", range(RUNS))
def test_killed_workers_lose_and_double_nothing(run: KilledRun, seed: int) -> None:
    """A hundred kills in twenty runs."""
    ended = kill_workers(run, random.Random(seed), KILLS)

    assert run.kills == KILLS
    run.check(ended)


@pytest.mark.parametrize("backend", ALL)
@pytest.mark.parametrize("seed", range(12))
def test_a_killed_leader_loses_and_doubles_nothing(run: KilledRun, seed: int) -> None:
    """Also one that has just begun to start its teammates, and one that has just taken up the run."""
    ended = kill_leaders(run, random.Random(seed), 1 + seed % 3, workers=False)

    assert run.leaders
    run.check(ended)


@pytest.mark.parametrize("backend", OWN_PROCESSES)
@pytest.mark.parametrize("seed", range(12))
def test_leaders_and_workers_killed_in_turn_lose_and_double_nothing(run: KilledRun, seed: int) -> None:
    ended = kill_leaders(run, random.Random(100 + seed), 1 + seed % 3, workers=True)

    assert run.leaders
    run.check(ended)
