"""An agent whose claims overlapped came to own two tasks at once."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from swarm.core.identity import USER
from swarm.core.task import NewTask, Task, TaskResult
from tests.support.live_team import LiveTeam

WORKERS = ("w1", "w2", "w3")
ROUNDS = 2
ROUNDS_LONG = 50


def all_at_work(number: int) -> str:
    """A command that ends when as many tasks have begun as there are workers, or all of them."""
    wanted = 3 if number <= 3 else 6
    return f"touch mark-{number}; while [ $(ls mark-* | wc -l) -lt {wanted} ]; do sleep 0.02; done"


def a_task(number: int) -> dict:
    script = [{"calls": [{"Bash": {"command": all_at_work(number)}}]}, {"say": "Done."}]
    return {"key": f"t{number}", "subject": f"Task {number}", "script": script}


async def one_round(home: Path) -> None:
    """Start, mail, unblocking and hints come at one moment; the six tasks need all three workers twice."""
    team = LiveTeam(
        home,
        permissions={"mode": "bypassPermissions"},
        teammates=[{"name": name} for name in WORKERS],
        tasks=[a_task(number) for number in range(1, 7)],
    )
    store = team.team.tasks(USER)
    (gate,) = store.create(NewTask(subject="gate"))
    for key in team.ids.values():
        store.link(gate.id, key)
    person = team.team.tasks("person")
    opened = person.claim("person", None, "c4hq2m7e.person.cli", gate.id)
    assert isinstance(opened, Task)
    assert opened.claim is not None
    for name in WORKERS:
        team.start(name)
        team.send(name, "there is work")
    person.complete(gate.id, opened.claim.token, TaskResult(summary="open"))
    try:
        await team.until_finished()
    finally:
        await team.stop()

    done = [task for task in team.tasks() if task.id != gate.id]
    assert {task.status for task in done} == {"completed"}
    assert Counter(task.owner for task in done) == dict.fromkeys(WORKERS, 2)
    held: Counter[str] = Counter()
    for event in team.events("task_claimed", "task_completed", "task_released", "task_failed"):
        held[event.agent] += 1 if event.event == "task_claimed" else -1
        assert held[event.agent] in (0, 1), event


async def rounds(home: Path, count: int) -> None:
    for number in range(count):
        folder = home / f"round-{number}"
        folder.mkdir()
        await one_round(folder)


@pytest.mark.timeout(60)
async def test_an_agent_owns_one_task_at_most_and_none_is_idle_while_there_is_work(tmp_path: Path) -> None:
    """The journal tells of every moment, not only of those at which somebody looked."""
    await rounds(tmp_path, ROUNDS)


@pytest.mark.soak
async def test_the_same_for_long(tmp_path: Path) -> None:
    await rounds(tmp_path, ROUNDS_LONG)
