"""Teams with tasks and mail for tests of the store, the operations on them, and what must hold afterwards."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from swarm.core.identity import LEADER
from swarm.core.message import Message
from swarm.core.roster import Member
from swarm.core.task import NewTask, Task, TaskResult
from swarm.settings import Settings
from swarm.storage.layout import Layout
from swarm.storage.ledger import Ledger
from swarm.storage.mail import send
from swarm.storage.mark import find_mark
from swarm.storage.syscalls import fault_hook
from swarm.storage.task_files import TaskFiles
from swarm.storage.team import Team, create_team
from swarm.testing.clock import FakeClock
from tests.support.faults import Point, Recorder

SETTINGS = Settings(durability="none", inbox_max_messages=3, lock_timeout_seconds=2.0)
NAMES = ("w1", "w2")
RUN_OF = {name: f"k3v9qd7m.{name}.1" for name in NAMES}
WAITING = ("m1", "m2", "m3", "m4", "m5")
"""Mail of w1 in a prepared team: three in the array, two in the overflow."""


def make_team(root: object, *, settings: Settings = SETTINGS, clock: FakeClock | None = None) -> Team:
    """Return a new team of the leader, w1 and w2."""
    clock = clock or FakeClock()
    team = create_team(str(root), "demo", workspace="/srv/app", settings=settings, clock=clock)
    for name in NAMES:
        team.roster.add_member(Member(agent_id=f"{name}@demo", name=name, joined_at=0, cwd="/srv/app"))
    return team


def a_message(text: str, to: str = "w1", sender: str = "w2", **fields: Any) -> Message:
    """Return a message whose id is its text."""
    at = "2026-11-30T12:33:38.156Z"
    return Message(sender=sender, to=to, text=text, msg_id=text, timestamp=at, **fields)


def prepare(root: object) -> Team:
    """Return a team in which each of `OPERATIONS` is possible."""
    team = make_team(root)
    store = team.tasks("user")
    store.create(
        NewTask(subject="first"),
        NewTask(subject="waits for the first", blocked_by=("1",)),
        NewTask(subject="third"),
        NewTask(subject="in progress"),
        NewTask(subject="waits for the third", blocked_by=("3",)),
    )
    claimed = store.claim("w2", None, RUN_OF["w2"], "4")
    assert isinstance(claimed, Task)
    for text in WAITING:
        team.inbox("w1").deliver(a_message(text))
    return team


def claim_task(team: Team, name: str, task_id: str | None = None) -> Task:
    """Claim for this agent and return the task; a refusal fails the test."""
    task = team.tasks(name).claim(name, None, RUN_OF[name], task_id)
    assert isinstance(task, Task), task
    return task


def token_of(team: Team, task_id: str) -> str:
    claim = team.tasks("w2").table().get(task_id).claim
    assert claim is not None
    return claim.token


_HANDS: dict[str, dict[str, Any]] = {
    "3": {"subject": "renamed", "blockedBy": ["1"], "reviewer": "alice"},
    "4": {"description": "please hurry", "status": "completed", "blockedBy": ["1"]},
    "7": {"id": "7", "subject": "theirs", "status": "pending", "blocks": ["1"], "blockedBy": ["3"]},
}
"""What another hand writes into the file of a task of a prepared team; there is no task 7."""


def _by_hand(team: Team, task_id: str) -> None:
    path = Path(team.layout.task(task_id))
    obj = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps(obj | _HANDS[task_id]))
    team.tasks("user").sweep()


RESULT = TaskResult(summary="Done.", files=("api/users.py",))

OPERATIONS: dict[str, Callable[[Team], object]] = {
    "create": lambda team: team.tasks("w1").create(NewTask(subject="new", blocked_by=("1", "3"))),
    "claim": lambda team: claim_task(team, "w1"),
    "complete": lambda team: team.tasks("w2").complete("4", token_of(team, "4"), RESULT),
    "fail": lambda team: team.tasks("w2").fail("4", token_of(team, "4"), "no such function"),
    "release": lambda team: team.tasks("w2").release("4", token_of(team, "4"), "asked to stop"),
    "end_attempt": lambda team: team.tasks("w2").end_attempt("4", token_of(team, "4"), "tests fail"),
    "cancel": lambda team: team.tasks("user").cancel("1", "not needed"),
    "edit": lambda team: team.tasks("user").edit("3", {"description": "longer than the padding " * 60}),
    "link": lambda team: team.tasks("user").link("1", "5"),
    "unlink": lambda team: team.tasks("user").unlink("1", "2"),
    "delete": lambda team: team.tasks("user").delete("5"),
    "send": lambda team: send(team, "w1", LEADER, "hello", msg_id="hello"),
    "send_to_overflow": lambda team: send(team, "w2", "w1", "m6", msg_id="m6"),
    "acknowledge": lambda team: team.inbox("w1").acknowledge(("m1", "m4")),
    "acknowledge_all": lambda team: team.inbox("w1").acknowledge(WAITING),
    "rewrite": lambda team: team.tasks("user").rewrite(),
    "edit_by_hand": lambda team: _by_hand(team, "3"),
    "forbidden_by_hand": lambda team: _by_hand(team, "4"),
    "new_by_hand": lambda team: _by_hand(team, "7"),
}
REPEATABLE = frozenset({"complete", "fail", "cancel", "link", "unlink", "send", "send_to_overflow"}) | {
    "acknowledge",
    "acknowledge_all",
    "edit_by_hand",
    "forbidden_by_hand",
    "new_by_hand",
}
"""Operations that do no harm when they are done again after they failed half-way."""


def state_of(team: Team) -> dict[str, Any]:
    """Return what the team's files mean: tasks by the journal, mail as its readers get it."""
    names = (LEADER, *NAMES)
    return {
        "tasks": team.tasks("user").table().tasks(),
        "generation": team.tasks("user").table().gen,
        "waiting": {name: [m.text for m in team.inbox(name).peek()] for name in names},
        "history": {name: [m.text for m in team.inbox(name).history()] for name in names},
    }


def copied(template: Path, number: int | str) -> Team:
    """Return the team of a copy of this root, a minute later."""
    root = template.parent / f"copy-{number}"
    shutil.copytree(template, root, symlinks=True)
    clock = FakeClock()
    clock.advance(60.0)
    return Team(Layout(root=str(root)).team("demo"), SETTINGS, clock)


def points_of(template: Path, name: str) -> list[Point]:
    """Return every place at which this operation can fail."""
    return recorded(template, name).points()


def recorded(template: Path, name: str, number: int = -1) -> Recorder:
    """Return what this operation calls."""
    recorder = Recorder()
    with fault_hook(recorder):
        OPERATIONS[name](copied(template, number))
    return recorder


def states_around(template: Path, name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the state before and after this operation."""
    before, done = copied(template, -2), copied(template, -3)
    OPERATIONS[name](done)
    return state_of(before), state_of(done)


def check_recovery(team: Team, name: str, before: dict[str, Any], after: dict[str, Any]) -> None:
    """Check that an operation which was cut off happened or did not, and that the team goes on."""
    seen = [team.tasks(by).table().tasks() for by in ("user", *NAMES)]
    assert seen == [seen[0]] * len(seen)  # no store shows what did not get into the journal
    if name in REPEATABLE:
        OPERATIONS[name](team)
        assert state_of(team) == after
    else:
        check_tasks(team)
        assert state_of(team) in (before, after)
    (extra,) = team.tasks("w1").create(NewTask(subject="goes on"))
    assert state_of(reopened(team))["tasks"][-1] == extra
    check_tasks(reopened(team))


def reopened(team: Team) -> Team:
    """Return the team as another process would see it."""
    return Team(team.layout, team.settings, team.clock)


def check_tasks(team: Team) -> None:
    """Check after a repair that every view says what the journal says, and that each event is there once."""
    layout = team.layout
    ledger = Ledger(layout, "checker", team.settings, team.clock)
    with ledger.locked() as table:
        tasks = {task.id: task for task in table.tasks()}
        seq = table.seq
    ledger.close()
    task_files = TaskFiles(layout, team.settings)
    assert {task_id: task_files.find(task_id) for task_id in task_files.ids()} == tasks
    for task in tasks.values():
        assert all(task.id in tasks[other].blocked_by for other in task.blocks)
        assert all(task.id in tasks[other].blocks for other in task.blocked_by)
    lines = [event.seq for _, event in team.events.read() if event.event.startswith("task_") and event.seq]
    assert lines == list(range(1, seq + 1))
    mark = find_mark(layout.lock("tasks"))
    assert mark is not None
    assert mark.seq == seq
