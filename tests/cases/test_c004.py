"""Two that added a task at the same moment chose the same id; and who lost the lock failed at once."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from swarm.core.task import NewTask
from tests.support.racers import race
from tests.support.stores import make_team
from tests.support.verbs import RACER, verb

pytestmark = pytest.mark.timeout(60)  # many processes, for a machine that is busy with others

ADD = """
added = [verb(root, "task", "add", f"{name} {n}", "--json") for n in range(4)]
edited = [verb(root, "task", "edit", "1", "--description", name + str(n)) for n in range(2)]
say([[e.code for e in (*added, *edited)], [json.loads(e.out)["id"] for e in added]])
"""


def test_parallel_adds_get_ids_of_their_own_beside_edits(tmp_path: Path) -> None:
    """Every call waits for its turn, and none has to be repeated."""
    team = make_team(tmp_path)
    team.tasks("user").create(NewTask(subject="first"))
    names = [f"p{number}" for number in range(8)]

    started = time.monotonic()
    told = race(tmp_path, names, RACER + ADD)
    elapsed = time.monotonic() - started

    assert [codes for codes, _ in told] == [[0] * 6] * len(names)
    ids = [task_id for _, given in told for task_id in given]
    assert sorted(map(int, ids)) == list(range(2, 34))
    listed = {
        task["id"]: task["subject"] for task in verb(tmp_path, "task", "list", "--json").json()["tasks"]
    }
    expected = {
        task_id: f"{name} {n}"
        for name, (_, given) in zip(names, told, strict=True)
        for n, task_id in enumerate(given)
    }
    assert listed == {"1": "first", **expected}
    assert team.tasks("user").get_task("1").description in {f"{name}{n}" for name in names for n in range(2)}
    assert elapsed < 20
