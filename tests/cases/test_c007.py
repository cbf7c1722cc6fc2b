"""With a bad id counter a task overwrote another one, and a late write brought a deleted task back."""

from __future__ import annotations

from pathlib import Path

import pytest

from swarm.core.task import NewTask
from tests.support.racers import race
from tests.support.stores import check_tasks, make_team, reopened

ROUNDS = 40


@pytest.mark.parametrize("counter", [None, "", "x", "0", "-1", "1\n2", "2", "9" * 50])
def test_no_counter_makes_an_id_come_twice(tmp_path: Path, counter: str | None) -> None:
    team = make_team(tmp_path)
    store = team.tasks("user")
    made = store.create(*(NewTask(subject=f"task {number}") for number in (1, 2, 3)))
    store.delete("3")
    path = Path(team.layout.highwatermark)
    if counter is None:
        path.unlink()
    else:
        path.write_text(counter)

    (new,) = reopened(team).tasks("user").create(NewTask(subject="new"))

    assert new.id == "4"
    assert reopened(team).tasks("user").list_tasks() == (*made[:2], new)
    check_tasks(team)


def test_counter_that_another_client_raised_is_heeded(tmp_path: Path) -> None:
    team = make_team(tmp_path)
    Path(team.layout.highwatermark).write_text("41")
    assert team.tasks("user").create(NewTask(subject="x"))[0].id == "42"


def test_deleted_task_written_late_by_another_client_is_gone_again(tmp_path: Path) -> None:
    team = make_team(tmp_path)
    store = team.tasks("user")
    store.create(NewTask(subject="first"), NewTask(subject="second"))
    late = Path(team.layout.task("2")).read_text().replace('"pending"', '"in_progress"')
    store.delete("2")
    Path(team.layout.task("2")).write_text(late)

    store.sweep()

    assert [task.id for task in store.list_tasks()] == ["1"]
    assert store.create(NewTask(subject="third"))[0].id == "3"
    check_tasks(team)


def test_task_deleted_and_claimed_at_the_same_time_is_one_of_both(tmp_path: Path) -> None:
    team = make_team(tmp_path)
    team.tasks("user").create(*(NewTask(subject="x") for _ in range(ROUNDS)))
    code = f"""
from swarm.errors import SwarmError
done = []
for number in range(1, {ROUNDS} + 1):
    try:
        if name == "deleter":
            team.tasks("user").delete(str(number))
            done.append(True)
        else:
            run = f"k3v9qd7m.w{{number}}.1"
            done.append(isinstance(team.tasks("w1").claim(f"w{{number}}", None, run, str(number)), Task))
    except SwarmError:
        done.append(False)
say(done)
"""
    deleted, claimed = race(tmp_path, ("deleter", "claimer"), code)

    assert [a != b for a, b in zip(deleted, claimed, strict=True)] == [True] * ROUNDS
    held = [task.id for task in reopened(team).tasks("user").list_tasks()]
    assert held == [str(number) for number, taken in enumerate(claimed, 1) if taken]
    check_tasks(team)
