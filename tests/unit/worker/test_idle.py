"""Why a teammate waits: for whom, or for nothing any more."""

from __future__ import annotations

import itertools

import pytest

from swarm.core import operations
from swarm.core.table import TaskTable
from swarm.core.task import NewTask, Requires, TaskResult
from worker.idle import IdleReason, idle_reason

AT = "2026-11-30T12:30:00.000Z"


class Board:
    """A task table that is filled by the same lines as a real one."""

    def __init__(self) -> None:
        self.table = TaskTable("demo")
        self._seq = itertools.count(1)

    def _apply(self, body, by="user") -> None:
        self.table.apply(operations.stamp(body, next(self._seq), AT, by))

    def add(self, *, after=(), agent=None, role=None, files=()) -> str:
        requires = Requires(agent=agent, role=role) if agent or role else None
        new = NewTask(subject="s", blocked_by=tuple(after), requires=requires, files=tuple(files))
        task_id = str(self.table.next_id)
        self._apply(operations.create(self.table, new, AT, "user"))
        return task_id

    def claim(self, task_id, name) -> str:
        body = operations.claim(self.table, name, None, f"r.{name}.1", task_id)
        assert not isinstance(body, operations.Refusal)
        self._apply(body)
        claim = self.table.get(task_id).claim
        assert claim is not None
        return claim.token

    def complete(self, task_id, name) -> None:
        token = self.claim(task_id, name)
        self._apply(operations.complete(self.table, task_id, token, TaskResult(summary="ok")), by=name)

    def fail(self, task_id, name) -> None:
        token = self.claim(task_id, name)
        self._apply(operations.fail(self.table, task_id, token, "cannot"), by=name)

    def why(self, name="me", role=None, *, is_short=False) -> IdleReason:
        return idle_reason(self.table, name, role, is_short=is_short)


@pytest.fixture
def board() -> Board:
    return Board()


def test_without_money_what_could_be_claimed_is_left(board) -> None:
    """Only then: who has nothing to claim waits for the same as others, however little money there is."""
    assert board.why(is_short=True) == IdleReason(reason="no_task")
    first = board.add()
    later = board.add(after=(first,))
    assert board.why(is_short=True) == IdleReason(reason="budget_spent")
    assert board.why().reason != "budget_spent"
    board.claim(first, "other")
    assert board.why(is_short=True) == IdleReason(reason="waiting_for_task", on=first)
    assert later


def test_all_finished(board) -> None:
    board.complete(board.add(), "other")
    board.fail(board.add(), "other")

    assert board.why() == IdleReason(reason="finished")


def test_a_team_without_tasks_has_none_for_anybody(board) -> None:
    assert board.why() == IdleReason(reason="no_task")


def test_waits_for_the_task_that_holds_mine_back(board) -> None:
    first, second = board.add(agent="third"), board.add()
    board.add(after=[first, second], agent="me")
    board.claim(second, "other")

    assert board.why() == IdleReason(reason="waiting_for_task", on=second)


def test_waits_through_several_tasks(board) -> None:
    first = board.add(agent="other")
    second = board.add(after=[first], agent="other")
    board.add(after=[second], agent="me")
    board.claim(first, "other")

    assert board.why() == IdleReason(reason="waiting_for_task", on=second)


def test_what_somebody_else_is_on_may_still_come_back(board) -> None:
    task = board.add()
    board.claim(task, "other")

    assert board.why() == IdleReason(reason="waiting_for_task", on=task)


def test_waits_for_the_one_that_writes_the_same_files(board) -> None:
    held = board.add(agent="other", files=["api/**"])
    board.add(agent="me", files=["api/users.py"])
    board.claim(held, "other")

    assert board.why() == IdleReason(reason="waiting_for_task", on=held)


def test_tasks_of_others_are_nothing_to_wait_for(board) -> None:
    board.claim(board.add(agent="other"), "other")
    board.add(role="tester")

    assert board.why() == IdleReason(reason="no_task")
    assert board.why(role="tester").reason == "waiting_for_task"


def test_a_task_behind_a_failed_one_comes_to_nobody(board) -> None:
    """Else a teammate would say for ever that it waits for something that cannot happen."""
    first = board.add()
    second = board.add(after=[first], agent="other")
    board.add(after=[second], agent="me")
    board.fail(first, "other")

    assert board.why() == IdleReason(reason="no_task")


def test_a_very_long_chain_is_no_problem(board) -> None:
    task = first = board.add()
    for _ in range(1500):
        task = board.add(after=[task])
    board.fail(first, "other")

    assert board.why() == IdleReason(reason="no_task")


def test_the_reason_costs_the_same_however_many_tasks_there_are(board) -> None:
    """An idle teammate looks after every change of any task, of which there may be ten thousand."""
    for _ in range(20):
        board.complete(board.add(), "other")
    first = board.add(agent="other")
    board.add(after=[first], agent="me")
    board.table.tasks = None

    assert board.why() == IdleReason(reason="waiting_for_task", on=first)
