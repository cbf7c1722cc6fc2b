"""The journal is rewritten again and again while others write to it and read it without a lock."""

from __future__ import annotations

from pathlib import Path

import pytest

from swarm.storage.team import Team
from tests.support.racers import race
from tests.support.stores import check_tasks, make_team, reopened

EACH = 60
_CODE = f"""
from swarm.core.table import TaskTable
from swarm.storage.journal import Journal
if name.startswith("w"):
    for number in range({EACH}):
        team.tasks(name).create(NewTask(subject="x"))
        if number % 7 == 0:
            team.tasks(name).rewrite()
    say(None)
else:
    steps = []
    apply = TaskTable.apply
    def noted(table, line, raw=None):
        if line["op"] != "snap":
            steps.append((line["op"], line["seq"], table.seq))
        return apply(table, line, raw)
    TaskTable.apply = noted
    journal = Journal(team.layout)
    while journal.table.seq < 2 * {EACH}:
        journal.refresh()
    say([steps, len(journal.table.tasks())])
"""


@pytest.fixture
def team(tmp_path: Path) -> Team:
    return make_team(tmp_path)


def test_reader_without_a_lock_sees_each_line_once_and_in_order(team: Team, tmp_path: Path) -> None:
    """Only where two rewrites fell between two looks, it takes what it missed from the snapshot."""
    answers = race(tmp_path, ("w1", "w2", "reader"), _CODE)

    steps, tasks = answers[2]
    assert tasks == 2 * EACH
    last = 0
    for op, seq, stood in steps:
        assert seq >= last if op == "head" else seq == last + 1
        assert op == "head" or stood == last
        last = seq
    assert last == 2 * EACH
    assert len(reopened(team).tasks("user").list_tasks()) == 2 * EACH
    assert reopened(team).tasks("user").table().gen == 2 * len(range(0, EACH, 7))
    check_tasks(team)
