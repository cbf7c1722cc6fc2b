"""Dependencies on itself and loops were accepted; all their tasks were then blocked for ever."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from swarm.core.task import NewTask
from swarm.errors import CycleError
from swarm.storage.team import Team
from tests.support.racers import race
from tests.support.stores import RESULT, check_tasks, claim_task, make_team, reopened


@pytest.fixture
def team(tmp_path: Path) -> Team:
    made = make_team(tmp_path)
    made.tasks("user").create(*(NewTask(subject=f"task {number}") for number in range(1, 6)))
    return made


@pytest.mark.parametrize("length", [1, 2, 5])
def test_loop_is_refused_and_named_and_nothing_changes(team: Team, length: int) -> None:
    store = team.tasks("user")
    for number in range(1, length):
        store.link(str(number), str(number + 1))
    before = store.table().tasks()

    with pytest.raises(CycleError) as refused:
        store.link(str(length), "1")

    named = [*map(str, range(1, length + 1))]
    assert sorted(set(refused.value.details["cycle"])) == named
    assert refused.value.details["cycle"][0] == refused.value.details["cycle"][-1]
    assert store.table().tasks() == before
    check_tasks(team)


def test_two_edits_that_close_a_loop_together_do_not_both_succeed(tmp_path: Path) -> None:
    rounds = 30
    team = make_team(tmp_path)
    team.tasks("user").create(*(NewTask(subject="x") for _ in range(2 * rounds)))
    code = f"""
from swarm.errors import CycleError
done = []
for number in range(1, 2 * {rounds}, 2):
    a, b = (number, number + 1) if name == "one" else (number + 1, number)
    try:
        team.tasks(name).link(str(a), str(b))
        done.append(True)
    except CycleError:
        done.append(False)
say(done)
"""
    one, other = race(tmp_path, ("one", "other"), code)

    assert [a != b for a, b in zip(one, other, strict=True)] == [True] * rounds
    check_tasks(team)


@pytest.mark.parametrize("length", [1, 2, 5])
@pytest.mark.parametrize("both_sides", [True, False])
def test_loop_planted_by_hand_is_told_and_blocks_nobody(team: Team, length: int, both_sides: bool) -> None:
    """Before it is noticed, it is listed as it stands in the files; a claim ends, whatever it gets."""
    for number in range(1, length + 1):
        blocker, waiting = str(number), str(number % length + 1)
        plant(team, waiting, "blockedBy", blocker)
        if both_sides:
            plant(team, blocker, "blocks", waiting)
    store = reopened(team).tasks("user")
    assert len(store.list_tasks()) == 5
    first = claim_task(team, "w2").claim
    assert first is not None

    told = [verdict.reason for verdict in store.sweep()]

    told += [str(event.data["reason"]) for _, event in team.events.read() if "reason" in event.data]
    assert any("closes a cycle" in reason for reason in told)
    held = team.tasks("w2").table().in_progress_of("w2")
    team.tasks("w2").complete(held[0], first.token, RESULT)
    assert claim_task(team, "w1").status == "in_progress"
    check_tasks(team)
    assert store.sweep() == ()


def plant(team: Team, task_id: str, side: str, other: str) -> None:
    path = Path(team.layout.task(task_id))
    obj = json.loads(path.read_text())
    obj[side].append(other)
    path.write_text(json.dumps(obj))
