"""Claiming was locked, plain edits were not: one of a description put back the old owner and status."""

from __future__ import annotations

from pathlib import Path

from swarm.core.task import NewTask
from tests.support.racers import race
from tests.support.stores import check_tasks, make_team, reopened

ROUNDS = 60
_CODE = f"""
from swarm.errors import SwarmError
done = []
for number in range(1, {ROUNDS} + 1):
    task_id = str(number)
    if name == "claimer":
        run = f"k3v9qd7m.w{{number}}.1"
        done.append(isinstance(team.tasks("w1").claim(f"w{{number}}", None, run, task_id), Task))
        continue
    try:
        OTHER
        done.append(True)
    except SwarmError:
        done.append(False)
say(done)
"""


def test_claim_and_edit_at_the_same_time_both_hold(tmp_path: Path) -> None:
    team = make_team(tmp_path)
    team.tasks("user").create(*(NewTask(subject="x") for _ in range(ROUNDS)))
    edit = """team.tasks("user").edit(task_id, {"description": "as agreed"})"""

    answers = race(tmp_path, ("claimer", "editor"), _CODE.replace("OTHER", edit))

    assert answers == [[True] * ROUNDS] * 2
    for task in reopened(team).tasks("user").list_tasks():
        assert (task.owner, task.status, task.description) == (f"w{task.id}", "in_progress", "as agreed")
    check_tasks(team)


def test_claim_and_new_blocker_at_the_same_time_exclude_each_other(tmp_path: Path) -> None:
    """A task that waits is not worked on, and one that is worked on does not begin to wait."""
    team = make_team(tmp_path)
    team.tasks("user").create(*(NewTask(subject="x") for _ in range(ROUNDS + 1)))
    link = f"""team.tasks("user").link("{ROUNDS + 1}", task_id)"""

    claimed, linked = race(tmp_path, ("claimer", "linker"), _CODE.replace("OTHER", link))

    assert [a != b for a, b in zip(claimed, linked, strict=True)] == [True] * ROUNDS
    check_tasks(team)
