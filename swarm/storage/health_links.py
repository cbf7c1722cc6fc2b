"""Health of the links between tasks: those that only one side knows of, and loops."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from swarm.core.graph import shortest_path
from swarm.core.identity import USER
from swarm.core.operations import Body
from swarm.core.table import TaskTable
from swarm.storage.finding import Finding
from swarm.storage.ledger import Ledger
from swarm.storage.team import Team


def find_one_sided_links(team: Team, table: TaskTable) -> Iterator[Finding]:
    """Find links that only one of two tasks knows of. What a task says that it waits for is what holds."""
    pairs = [(a, task.id) for task in table.tasks() for a in task.blocked_by]
    pairs += [(task.id, b) for task in table.tasks() for b in task.blocks]
    for a, b in dict.fromkeys(pairs):
        blocker, waiting = table.find(a), table.find(b)
        says_a, says_b = (
            blocker is not None and b in blocker.blocks,
            waiting is not None and a in waiting.blocked_by,
        )
        if says_a and says_b:
            continue
        knows = b if says_b else a
        gone = a if blocker is None else b if waiting is None else None
        what = f"task {knows} alone says that {b} waits for {a}"
        yield Finding(
            kind="one_sided_link",
            path=team.layout.task(knows),
            what=f"{what}, and there is no task {gone}" if gone else what,
            remedy="both say so" if says_b and not gone else "none says so",
            mend=partial(_mirror, team, a, b),
        )


def _mirror(team: Team, a: str, b: str) -> None:
    with changing(team) as ledger:
        body = _link_body(ledger.refresh(), a, b)
        if body is not None:
            ledger.commit(body)


def _link_body(table: TaskTable, a: str, b: str) -> Body | None:
    blocker, waiting = table.find(a), table.find(b)
    if blocker is not None and waiting is not None:
        return {"op": "edge", "a": a, "b": b, "add": a in waiting.blocked_by}
    if waiting is not None:
        return {"op": "edit", "id": b, "set": {"blockedBy": [i for i in waiting.blocked_by if i != a]}}
    if blocker is not None:
        return {"op": "edit", "id": a, "set": {"blocks": [i for i in blocker.blocks if i != b]}}
    return None


def find_loop(team: Team, table: TaskTable) -> Iterator[Finding]:
    """Find tasks that wait for each other, which no verb allows; which link goes is for people to say."""
    waits = {task.id: table.open_blockers(task.id) for task in table.tasks() if task.status == "pending"}
    for task_id, blockers in waits.items():
        for blocker in blockers:
            path = shortest_path(blocker, task_id, lambda node: waits.get(node, ()))
            if path:
                loop = " -> ".join((task_id, *path))
                hint = f"swarm task edit {task_id} --remove-blocked-by {blocker} breaks the loop"
                what = f"tasks {loop} wait for each other; {hint}"
                yield Finding(kind="cycle", path=team.layout.task(task_id), what=what)
                return


@contextmanager
def changing(team: Team) -> Iterator[Ledger]:
    """Hold the task lock, for a line that no operation of the store writes."""
    ledger = Ledger(team.layout, USER, team.settings, team.clock)
    try:
        with ledger.locked():
            yield ledger
    finally:
        ledger.close()
