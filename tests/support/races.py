"""Plays one race, storm or series of kills in processes of its own, checks what is left, and counts."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

from swarm.core.task import NewTask
from swarm.storage.team import Team
from tests.support.mail_storm import OWNER, open_storm
from tests.support.oracle import History, check_answers, check_mail
from tests.support.racers import REPOSITORY
from tests.support.stores import check_tasks, make_team
from tests.support.task_race import answers


def run_program(name: str, *words: object) -> str:
    """Run a program of the tests to its end and return what it printed; whatever it complained of, fails."""
    command = [sys.executable, "-m", f"tests.support.{name}", *map(str, words)]
    ended = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
    return ended.stdout


def task_race(root: Path, seed: int, *troubles: str, tasks: int, processes: int = 8) -> Counter[str]:
    """Let processes race for tasks; return how often what happened, and how often what was answered."""
    team = _make_tasks(root, tasks, seed)
    counts = json.loads(run_program("task_race", root, processes, seed, *troubles))
    check_tasks(team)
    history = History(team)
    assert history.statuses() == {"completed": tasks}
    assert len(history.done) == tasks
    return Counter(counts) + check_answers(history, answers(str(root)))


def _make_tasks(root: Path, number: int, seed: int) -> Team:
    """Return a team with tasks of which a third waits for one or two that were made later.

    So a low id becomes ready after higher ones.
    """
    team = make_team(root)
    chance = random.Random(seed)
    store = team.tasks("user")
    store.create(*(NewTask(subject=f"task {n}") for n in range(number)))
    ids = [task.id for task in store.list_tasks()]
    for task_id in chance.sample(ids, number // 3):
        for blocker in chance.sample(ids, 2):
            if int(blocker) > int(task_id):
                store.link(blocker, task_id)
    return team


def mail_storm(
    root: Path, seed: int, *troubles: str, sizes: str = "mostly_small", limit: int = 0,
    senders: int = 20, each: int = 25,
) -> Counter[str]:  # fmt: skip
    """Let many send to one who reads; return how often what happened, and what became of the messages."""
    make_team(root)
    counts = json.loads(run_program("mail_storm", root, senders, each, seed, sizes, limit, *troubles))
    seen = json.loads((root / "seen").read_text())
    assert seen["bad"] == []
    told = {path.name: path.read_text().splitlines() for path in (root / "answers").iterdir()}
    assert len(told) == senders
    became = check_mail(open_storm(str(root)), OWNER, told, each, sizes)
    return Counter(counts) + became + Counter(looks=seen["looks"])


def kill_reader_twice(root: Path, mail: str, step: int) -> int:
    """Kill the reader of an inbox at pairs of places; return how many were tried."""
    return int(run_program("kill_pairs", root, mail, step).split()[0])
