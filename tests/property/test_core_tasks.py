"""Whatever is done to a task graph in whatever order, these hold after every single step."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from swarm.core import operations
from swarm.core.journal import parse_line, render_line
from swarm.core.operations import Refusal
from swarm.core.table import TaskTable
from swarm.core.task import FINISHED, STATUSES, NewTask, Requires, Task, TaskResult, may_move
from swarm.errors import CycleError, SwarmError
from tests.support.journaled import AT, Journaled, run_of

NAMES = ("w1", "w2", "builder-1", "builder-2")
ROLES = {"builder-1": "builder", "builder-2": "builder"}
FILES = ((), ("api/**",), ("api/users.py",), ("docs/*.md", "README.md"))
REQUIRES = (None, Requires(agent="w1"), Requires(role="builder"))
ATTEMPTS_MAX = CRASHES_MAX = 3

names = st.sampled_from(NAMES)
PICK_MAX = 12
picks = st.integers(min_value=0, max_value=PICK_MAX)


class TaskGraph(RuleBasedStateMachine):
    """Random decisions; a refusal must leave everything as it was."""

    def __init__(self) -> None:
        super().__init__()
        self.journal = Journaled()
        self.tokens: list[tuple[str, str]] = []  # every (task, token) that was ever given out

    @property
    def table(self) -> TaskTable:
        return self.journal.table

    @initialize(sizes=st.lists(st.integers(0, 2), min_size=3, max_size=8))
    def begin(self, sizes: list[int]) -> None:
        """Start with a graph, so that the steps that follow find something to do."""
        for size in sizes:
            self.journal.add(blocked_by=self.table.ids()[:size])

    def pick(self, number: int) -> str:
        """Return an id that exists; the highest number, or no task at all, gives one that does not."""
        ids = self.table.ids()
        return ids[number % len(ids)] if ids and number < PICK_MAX else "999"

    def attempt(self, decide: Any, by: str = "user") -> None:
        before = (self.table.tasks(), self.table.seq)
        try:
            body = decide()
        except SwarmError as error:
            assert error.exit_code in (2, 3, 4)  # noqa: PT017 - a refusal is one outcome of many
            body = None
        if isinstance(body, Refusal) or body is None:
            assert (self.table.tasks(), self.table.seq) == before
            return
        self.check_moves(body)
        self.journal.write(body, by)

    def check_moves(self, body: dict[str, Any]) -> None:
        """Nothing but delete, edit or retry after done; never two claims without a free between."""
        task = self.table.find(body.get("id", ""))
        if body["op"] == "claim":
            assert task is not None
            assert task.status == "pending"
        if body["op"] == "done":
            assert task is not None
            assert may_move(task.status, body["status"])
        if task is not None and task.status in FINISHED:
            assert body["op"] in ("del", "edit", "free")

    @rule(
        blockers=st.lists(picks, max_size=3), files=st.sampled_from(FILES), requires=st.sampled_from(REQUIRES)
    )
    def create(self, blockers: list[int], files: tuple[str, ...], requires: Requires | None) -> None:
        blocked_by = tuple(self.pick(number) for number in blockers)
        new = NewTask(subject="Do it", blocked_by=blocked_by, files=files, requires=requires)
        self.attempt(lambda: operations.create(self.table, new, AT, "user"))

    @rule(name=names)
    def claim_any(self, name: str) -> None:
        self.claim(name, None)

    @rule(name=names, pick=picks)
    def claim_one(self, name: str, pick: int) -> None:
        self.claim(name, pick)

    def claim(self, name: str, pick: int | None) -> None:
        wanted = None if pick is None else self.pick(pick)
        held = self.table.in_progress_of(name)
        running = self.table.counts()["in_progress"]
        self.attempt(lambda: operations.claim(self.table, name, ROLES.get(name), run_of(name), wanted), name)
        for task_id in self.table.in_progress_of(name):
            self.remember(task_id)
        assert self.table.counts()["in_progress"] - running in (0, 1)
        assert not held or self.table.in_progress_of(name) == held

    def remember(self, task_id: str) -> None:
        claim = (task_id, self.journal.token(task_id))
        if claim not in self.tokens:
            earlier = [_number(token) for known, token in self.tokens if known == task_id]
            assert all(_number(claim[1]) > number for number in earlier), "tokens of a task rise"
            self.tokens.append(claim)

    @precondition(lambda self: self.tokens)
    @rule(pick=picks)
    def complete(self, pick: int) -> None:
        self.end(pick, "complete")

    @precondition(lambda self: self.tokens)
    @rule(pick=picks, how=st.sampled_from(["complete", "fail", "end_attempt", "release"]))
    def end(self, pick: int, how: str) -> None:
        task_id, token = self.tokens[-1 - pick % len(self.tokens)]
        task = self.table.find(task_id)
        name = token.split(".")[1]
        live = task is not None and task.claim is not None and task.claim.token == token and not task.finished
        seq = self.table.seq
        self.attempt(lambda: _ending(self.table, how, task_id, token), name)
        assert live or self.table.seq == seq, "only the live claim's token changes anything"

    @precondition(lambda self: self.table.counts()["in_progress"])
    @rule(pick=picks, name=st.none() | names)
    def free_dead(self, pick: int, name: str | None) -> None:
        """Of a life that holds the task, or of another one."""
        running = [task for task in self.table.tasks() if task.status == "in_progress"]
        task = running[pick % len(running)]
        run_id = run_of(name or task.owner or "")
        held = task.claim is not None and task.claim.run_id == run_id
        seq = self.table.seq
        self.attempt(
            lambda: operations.free_dead(self.table, task.id, run_id, "died", CRASHES_MAX), "runtime"
        )
        assert held == (self.table.seq > seq)

    @rule(pick=picks, retry=st.booleans())
    def change_course(self, pick: int, retry: bool) -> None:
        if retry:
            self.attempt(lambda: operations.retry(self.table, self.pick(pick)))
        else:
            self.attempt(lambda: operations.cancel(self.table, self.pick(pick), "not wanted"))

    @rule(a=picks, b=picks, add=st.booleans())
    def link(self, a: int, b: int, add: bool) -> None:
        decide = operations.link if add else operations.unlink
        self.attempt(lambda: decide(self.table, self.pick(a), self.pick(b)))

    @rule(pick=picks, owner=st.none() | names, files=st.none() | st.sampled_from(FILES), text=st.booleans())
    def edit(self, pick: int, owner: str | None, files: tuple[str, ...] | None, text: bool) -> None:
        fields = {"subject": "Do it well"} if text else {"owner": owner}
        ours = {} if files is None else {"files": list(files)}
        self.attempt(lambda: operations.edit(self.table, self.pick(pick), fields, ours))

    @precondition(lambda self: len(self.table.tasks()) > 3)
    @rule(pick=picks, unlink=st.booleans())
    def delete(self, pick: int, unlink: bool) -> None:
        self.attempt(lambda: operations.delete(self.table, self.pick(pick), unlink=unlink))

    @invariant()
    def edges_are_mirrored_and_exist(self) -> None:
        tasks = {task.id: task for task in self.table.tasks()}
        down = {(task.id, other) for task in tasks.values() for other in task.blocks}
        up = {(other, task.id) for task in tasks.values() for other in task.blocked_by}

        assert down == up
        assert all(a in tasks and b in tasks for a, b in down)

    @invariant()
    def no_loop(self) -> None:
        tasks = {task.id: task for task in self.table.tasks()}
        while free := [
            key for key, task in tasks.items() if not any(other in tasks for other in task.blocked_by)
        ]:
            for key in free:
                del tasks[key]

        assert tasks == {}

    @invariant()
    def readiness_follows_from_the_blockers(self) -> None:
        tasks = {task.id: task for task in self.table.tasks()}
        ready = [key for key, task in tasks.items() if _is_ready(task, tasks)]

        assert list(self.table.ready_ids()) == ready
        assert [key for key in tasks if self.table.is_ready(key)] == ready
        for key, task in tasks.items():
            blockers = tuple(other for other in task.blocked_by if tasks[other].status != "completed")
            assert self.table.open_blockers(key) == blockers

    @invariant()
    def nothing_runs_or_ran_too_early(self) -> None:
        for task in self.table.tasks():
            if task.status in ("in_progress", "completed"):
                assert self.table.open_blockers(task.id) == ()

    @invariant()
    def nobody_holds_two_tasks(self) -> None:
        owners = Counter(task.owner for task in self.table.tasks() if task.status == "in_progress")

        assert all(number == 1 for number in owners.values())

    @invariant()
    def counts_add_up(self) -> None:
        tasks = self.table.tasks()
        statuses = Counter(task.status for task in tasks)
        ready = len(self.table.ready_ids())

        expected = {status: statuses[status] for status in STATUSES}
        assert self.table.counts() == {**expected, "ready": ready, "blocked": statuses["pending"] - ready}

    @invariant()
    def the_claimable_task_is_the_lowest_that_fits(self) -> None:
        """The heaps give what a scan of all tasks would give."""
        for name in NAMES:
            expected = next(filter(lambda key: _fits(self.table, key, name), self.table.ready_ids()), None)
            assert self.table.lowest_claimable(name, ROLES.get(name)) == expected

    @invariant()
    def the_expected_task_is_the_lowest_with_a_future(self) -> None:
        """What is known from line to line is what a walk from every failed task would give."""
        hopeless = _hopeless(self.table)
        pending = [task.id for task in self.table.tasks() if task.status == "pending"]
        for name in NAMES:
            hoped = (key for key in pending if key not in hopeless and _is_meant(self.table, key, name))
            assert self.table.lowest_expected(name, ROLES.get(name)) == next(hoped, None)

    @invariant()
    def live_claims_have_an_owner_and_no_result(self) -> None:
        for task in self.table.tasks():
            running = task.status == "in_progress"
            assert not running or (task.owner is not None and task.claim is not None)
            assert task.status != "pending" or task.claim is None
            assert (task.result is not None) == (task.status == "completed")

    def teardown(self) -> None:
        self.replay_gives_the_same()
        self.old_lines_change_nothing()
        self.ids_are_never_reused()

    def replay_gives_the_same(self) -> None:
        replayed = TaskTable("demo")
        for raw in map(render_line, self.journal.lines):
            replayed.apply(parse_line(raw), raw)

        assert replayed.tasks() == self.table.tasks()
        assert (replayed.seq, replayed.next_id) == (self.table.seq, self.table.next_id)

    def old_lines_change_nothing(self) -> None:
        before = (self.table.tasks(), self.table.seq, self.table.ready_ids())
        touched = [self.table.apply(line) for line in self.journal.lines]

        assert not any(touched)
        assert (self.table.tasks(), self.table.seq, self.table.ready_ids()) == before

    def ids_are_never_reused(self) -> None:
        created = [line["id"] for line in self.journal.lines if line["op"] == "new"]

        assert len(created) == len(set(created))


def _number(token: str) -> int:
    return int(token.partition("/")[0])


def _ending(table: TaskTable, how: str, task_id: str, token: str) -> Any:
    if how == "complete":
        return operations.complete(table, task_id, token, TaskResult(summary="Done."))
    if how == "end_attempt":
        return operations.end_attempt(table, task_id, token, "verify failed", ATTEMPTS_MAX)
    return getattr(operations, how)(table, task_id, token, "no luck")


def _is_ready(task: Task, tasks: dict[str, Task]) -> bool:
    return task.status == "pending" and all(tasks[other].status == "completed" for other in task.blocked_by)


def _fits(table: TaskTable, task_id: str, name: str) -> bool:
    return _is_meant(table, task_id, name) and not table.overlapping(table.get(task_id))


def _is_meant(table: TaskTable, task_id: str, name: str) -> bool:
    task = table.get(task_id)
    role = ROLES.get(name)
    meant = task.requires is None or task.requires.fits(name, role)
    return meant and task.owner in (None, name, role)


def _hopeless(table: TaskTable) -> set[str]:
    """Return the tasks that wait, through however many others, for a failed or cancelled one."""
    waiting = [task for task in table.tasks() if task.status in ("failed", "cancelled")]
    hopeless: set[str] = set()
    while waiting:
        for dependent in map(table.get, waiting.pop().blocks):
            if dependent.status == "pending" and dependent.id not in hopeless:
                hopeless.add(dependent.id)
                waiting.append(dependent)
    return hopeless


def test_a_loop_of_any_length_is_refused() -> None:
    """The state machine rarely builds long chains, so here is one of each length."""
    for length in range(1, 12):
        journal = Journaled()
        ids = [journal.add() for _ in range(length)]
        for a, b in pairwise(ids):
            journal.write(operations.link(journal.table, a, b))
        before = journal.table.tasks()

        try:
            operations.link(journal.table, ids[-1], ids[0])
        except CycleError as error:
            assert error.details["cycle"] == [ids[-1], *ids]  # noqa: PT017 - the loop stands in the error
        else:
            raise AssertionError("a loop was accepted")
        assert journal.table.tasks() == before


TestTaskGraph = TaskGraph.TestCase
TestTaskGraph.settings = settings(max_examples=100, stateful_step_count=50, deadline=None)
