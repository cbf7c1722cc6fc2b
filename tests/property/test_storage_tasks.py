"""Two processes' stores, other hands, and calls that fail at random: what was acknowledged is there, once."""

from __future__ import annotations

import errno
import json
import tempfile
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from swarm.core.journal import parse_line
from swarm.core.operations import Refusal
from swarm.core.task import NewTask, Task, TaskResult
from swarm.errors import StorageIOError, SwarmError
from swarm.storage.syscalls import fault_hook
from swarm.storage.tasks import TaskStore
from tests.support.faults import FailAt, Point
from tests.support.stores import check_tasks, make_team, reopened

NAMES = ("w1", "w2", "w3")
names = st.sampled_from(NAMES)
picks = st.integers(0, 9)
faults = st.none() | st.builds(Point, st.integers(0, 40), st.just(""), st.none() | st.integers(1, 60))

statuses = st.sampled_from(["pending", "in_progress", "completed", "failed", "cancelled", "done"])
owners = st.sampled_from(["w1", "alice", "", None])
hands = st.fixed_dictionaries(
    {},
    optional={
        "subject": st.sampled_from(["renamed", " "]),
        "description": st.integers(0, 5000).map("y".__mul__),
        "status": statuses,
        "owner": owners,
        "blockedBy": st.lists(picks, max_size=2),
        "blocks": st.lists(picks, max_size=2),
        "reviewer": st.sampled_from(["alice", None]),
        "metadata": st.none(),
    },
)
"""What another hand writes into a file; numbers stand for tasks."""


class Stores(RuleBasedStateMachine):
    """Random operations of two stores on one team. `None` as a fault lets an operation pass."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.team = make_team(self.folder.name)
        self.stores = [self.team.tasks("user"), reopened(self.team).tasks("other")]
        self.created: set[str] = set()
        self.deleted: set[str] = set()
        self.completed: set[str] = set()
        self.tokens: dict[str, str] = {}
        self.lines: list[dict[str, Any]] = []
        self.judged = True
        """Whether the files show nothing that the journal does not know."""

    def teardown(self) -> None:
        for store in self.stores:
            store.close()
        self.folder.cleanup()

    def attempt(self, fault: Point | None, operation: Callable[[], Any]) -> Any:
        """Return what the operation returns; None when it was refused or failed."""
        try:
            if fault is None:
                return operation()
            with fault_hook(FailAt(fault, code=errno.EIO)):
                return operation()
        except StorageIOError:
            assert fault is not None
            return None
        except SwarmError:
            return None

    def pick(self, number: int) -> str:
        known = sorted(self.created - self.deleted, key=int)
        return known[number % len(known)] if known else "999"

    @rule(which=st.integers(0, 1), blocker=picks, blocked=st.booleans(), fault=faults)
    def create(self, which: int, blocker: int, blocked: bool, fault: Point | None) -> None:
        new = NewTask(subject="do it", blocked_by=(self.pick(blocker),) if blocked and self.created else ())
        made = self.attempt(fault, lambda: self.stores[which].create(new))
        for task in made or ():
            assert task.id not in self.created
            self.created.add(task.id)

    @rule(which=st.integers(0, 1), name=names, fault=faults)
    def claim(self, which: int, name: str, fault: Point | None) -> None:
        answer = self.attempt(fault, lambda: self.stores[which].claim(name, None, f"k3v9qd7m.{name}.1"))
        if isinstance(answer, Task):
            assert answer.claim is not None
            self.created.add(answer.id)
            self.tokens[answer.id] = answer.claim.token
        else:
            assert answer is None or isinstance(answer, Refusal)

    @rule(which=st.integers(0, 1), number=picks, fault=faults)
    def complete(self, which: int, number: int, fault: Point | None) -> None:
        task_id = self.pick(number)
        token, result = self.tokens.get(task_id, "1/x"), TaskResult(summary="Done.")
        if self.attempt(fault, lambda: self.stores[which].complete(task_id, token, result)):
            self.completed.add(task_id)

    @rule(which=st.integers(0, 1), number=picks, fault=faults)
    def release(self, which: int, number: int, fault: Point | None) -> None:
        task_id = self.pick(number)
        token = self.tokens.get(task_id, "1/x")
        self.attempt(fault, lambda: self.stores[which].release(task_id, token, "asked to stop"))

    @rule(which=st.integers(0, 1), a=picks, b=picks, add=st.booleans(), fault=faults)
    def link(self, which: int, a: int, b: int, add: bool, fault: Point | None) -> None:
        store = self.stores[which]
        change = store.link if add else store.unlink
        self.attempt(fault, lambda: change(self.pick(a), self.pick(b)))

    @rule(which=st.integers(0, 1), number=picks, size=st.integers(0, 5000), fault=faults)
    def edit(self, which: int, number: int, size: int, fault: Point | None) -> None:
        task_id = self.pick(number)
        self.attempt(fault, lambda: self.stores[which].edit(task_id, {"description": "x" * size}))

    @rule(which=st.integers(0, 1), number=picks, fault=faults)
    def delete(self, which: int, number: int, fault: Point | None) -> None:
        task_id = self.pick(number)
        self.attempt(fault, lambda: self.stores[which].delete(task_id, unlink=True))
        if task_id in self.created and self.stores[which].table().find(task_id) is None:
            self.deleted.add(task_id)
            self.completed.discard(task_id)

    @rule(number=picks, changes=hands)
    def change_by_hand(self, number: int, changes: dict[str, Any]) -> None:
        path = Path(self.team.layout.task(self.pick(number)))
        try:
            obj = json.loads(path.read_text()) | changes
        except (FileNotFoundError, ValueError, TypeError):  # damaged before: no hand could edit that
            return
        for side in {"blockedBy", "blocks"} & changes.keys():
            obj[side] = list(map(self.pick, changes[side]))
        path.write_text(json.dumps(obj))
        self.judged = False

    @rule(number=picks, content=st.sampled_from([None, "", "{half", "[]"]))
    def damage(self, number: int, content: str | None) -> None:
        path = Path(self.team.layout.task(self.pick(number)))
        if path.exists():
            path.unlink() if content is None else path.write_text(content)
            self.judged = False

    @rule(ahead=st.integers(1, 3), changes=hands, blocker=picks)
    def make_by_hand(self, ahead: int, changes: dict[str, Any], blocker: int) -> None:
        task_id = str(self.stores[0].table().next_id + ahead)
        path = Path(self.team.layout.task(task_id))
        obj = {"id": task_id, "subject": "theirs", "status": "pending"} | changes
        if not path.exists() and obj["status"] != "done":
            path.write_text(json.dumps(obj | {"blocks": [], "blockedBy": [self.pick(blocker), task_id]}))
            self.judged = False

    @rule(which=st.integers(0, 1), fault=faults)
    def sweep(self, which: int, fault: Point | None) -> None:
        if self.attempt(fault, self.stores[which].sweep) is not None:
            self.judged = True

    @rule(which=st.integers(0, 1), fault=faults)
    def rewrite(self, which: int, fault: Point | None) -> None:
        self.attempt(fault, self.stores[which].rewrite)

    @invariant()
    def views_agree_and_nothing_acknowledged_is_lost(self) -> None:
        self.note_lines()
        if self.judged:
            check_tasks(self.team)
        fresh: TaskStore = reopened(self.team).tasks("user")
        tasks = {task.id: task for task in fresh.table().tasks()}
        fresh.close()
        assert self.created - self.deleted <= set(tasks)
        assert not self.deleted & set(tasks)
        assert all(tasks[task_id].status == "completed" for task_id in self.completed)
        self.check_claims()

    def note_lines(self) -> None:
        """Read on in the journal, which may have been rewritten: no number is missing, none comes twice."""
        with open(self.team.layout.journal, "rb") as file:
            lines = [parse_line(raw) for raw in file if raw.endswith(b"\n")]
        numbered = [line for line in lines if "seq" in line and line["op"] != "head"]
        assert all(b["seq"] == a["seq"] + 1 for a, b in pairwise(numbered))
        last = self.lines[-1]["seq"] if self.lines else 0
        new = [line for line in numbered if line["seq"] > last]
        assert not new or new[0]["seq"] == last + 1
        self.lines += new

    def check_claims(self) -> None:
        """For each task: never two claims without an end between them, each end with its claim's token."""
        lines = self.lines
        for task_id in {line.get("id") for line in lines}:
            own = [line for line in lines if line.get("id") == task_id]
            steps = [line for line in own if line["op"] in ("claim", "free", "done")]
            assert all({a["op"], b["op"]} != {"claim"} for a, b in pairwise(steps))
            ends = [line for line in steps if line["op"] != "claim" and "token" in line]
            claims = [f"{line['seq']}/{line['run']}" for line in steps if line["op"] == "claim"]
            assert [line["token"] for line in ends] == claims[: len(ends)]


TestStores = Stores.TestCase
TestStores.settings = settings(max_examples=15, stateful_step_count=25, deadline=None)
