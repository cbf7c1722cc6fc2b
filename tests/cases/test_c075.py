"""A list failed on a lock, and was shown as empty although there were tasks."""

from __future__ import annotations

import fcntl
from pathlib import Path

import pytest

from swarm.core.task import NewTask
from tests.support.racers import race
from tests.support.stores import make_team
from tests.support.verbs import RACER, error_of, verb

pytestmark = pytest.mark.timeout(60)  # many processes, for a machine that is busy with others

TASKS = 10
LOOK = """
def look():
    ended = verb(root, "task", "list", "--json")
    ids = [task["id"] for task in json.loads(ended.out)["tasks"]]
    return [ended.code, len(ids), ids[:10]]

def change(n):
    return verb(root, "task", "edit", str(n % 10 + 1), "--description", f"{name} " * (n * 50 % 900)).code

if name.startswith("r"):
    say([look() for _ in range(6)])
else:
    say([change(n) for n in range(10)] + [verb(root, "task", "add", name).code])
"""


def test_every_list_beside_writers_is_whole(tmp_path: Path) -> None:
    team = make_team(tmp_path)
    team.tasks("user").create(*(NewTask(subject=f"task {n}") for n in range(TASKS)))
    readers, writers = [f"r{n}" for n in range(6)], [f"c{n}" for n in range(4)]

    told = race(tmp_path, [*readers, *writers], RACER + LOOK)

    ids = [str(number) for number in range(1, TASKS + 1)]
    for code, count, first in (answer for answers in told[: len(readers)] for answer in answers):
        assert (code, first) == (0, ids)
        assert TASKS <= count <= TASKS + len(writers)
    assert told[len(readers) :] == [[0] * 11] * len(writers)


def test_a_lock_that_is_never_given_back_does_not_stop_readers(tmp_path: Path) -> None:
    """Who must write says that it is busy; who only reads needs no lock."""
    team = make_team(tmp_path)
    team.tasks("user").create(NewTask(subject="first"))
    team.close()
    with open(team.layout.lock("tasks")) as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        listed = verb(tmp_path, "task", "list", "--json")
        refused = verb(tmp_path, "task", "add", "second", "--json", SWARM_TIME_SCALE="0.02")

    assert [task["id"] for task in listed.json()["tasks"]] == ["1"]
    assert (refused.code, error_of(refused)["code"]) == (75, "busy")
    assert "holder" in error_of(refused)["details"]
