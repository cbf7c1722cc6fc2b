"""Many processes that race for the same tasks, with trouble and without; the whole history is checked."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from swarm.core.task import NewTask
from tests.support.oracle import History, check_answers
from tests.support.racers import REPOSITORY
from tests.support.stores import check_tasks, make_team
from tests.support.task_race import answers


def make_tasks(root: Path, number: int, seed: int) -> Any:
    """Return a team with tasks of which every third waits for one or two others, made out of order."""
    team = make_team(root)
    chance = random.Random(seed)
    store = team.tasks("user")
    store.create(*(NewTask(subject=f"task {n}") for n in range(number)))
    ids = [task.id for task in store.list_tasks()]
    for task_id in chance.sample(ids, number // 3):
        for blocker in chance.sample(ids, 2):
            if int(blocker) > int(task_id):  # so that a lower id becomes ready after a higher one
                store.link(blocker, task_id)
    return team


def race(root: Path, seed: int, *troubles: str, tasks: int, processes: int = 8) -> tuple[Any, Counter[str]]:
    """Run one race, check its history and what everybody was told, and return counts of both."""
    team = make_tasks(root, tasks, seed)
    command = [sys.executable, "-m", "tests.support.task_race", str(root), str(processes), str(seed)]
    ended = subprocess.run([*command, *troubles], cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
    check_tasks(team)
    history = History(team)
    assert history.statuses() == {"completed": tasks}
    told = check_answers(history, answers(str(root)))
    assert len(history.done) == tasks
    return json.loads(ended.stdout), told


def test_every_task_is_completed_once_by_whoever_holds_it(tmp_path: Path) -> None:
    _, told = race(tmp_path, 1, tasks=100)
    assert told["completed"] == 100
    assert told["refused"] == 0


def test_kills_lose_no_task_and_double_none(tmp_path: Path) -> None:
    """A killed worker may have completed a task without having been told so; nothing else is open."""
    troubles, told = race(tmp_path, 2, "kill", tasks=100)
    assert troubles["kills"] > 5
    assert 100 - troubles["kills"] <= told["completed"] <= 100


def test_worker_that_was_given_up_and_goes_on_is_refused(tmp_path: Path) -> None:
    """It was stopped, somebody else may have its task by now: what it brings then changes nothing."""
    troubles, told = race(tmp_path, 3, "stop", tasks=100)
    assert troubles["stops"] > 5
    assert told["refused"] <= troubles["freed_alive"]
    assert told["completed"] == 100


@pytest.mark.soak
@pytest.mark.parametrize("troubles", [(), ("kill",), ("stop",), ("kill", "kill", "stop")])
def test_long_race(tmp_path: Path, troubles: tuple[str, ...]) -> None:
    total: Counter[str] = Counter()
    for seed in range(20):
        suffered, told = race(tmp_path / str(seed), 100 + seed, *troubles, tasks=500)
        total += Counter(suffered) + told
    sys.stdout.write(f"{troubles}: {dict(total)}\n")
