"""Whether a run can get further, from the graph and who is alive."""

from __future__ import annotations

import pytest

from swarm.core import operations
from swarm.core.roster import Member
from swarm.core.table import TaskTable
from swarm.core.task import NewTask, Requires, TaskResult
from swarm.leader.progress import all_finished, can_progress, why_stuck

AT = "2026-11-30T12:00:00.000Z"
RUN = "abcdefgh.w1.1"


def a_member(name: str, role: str | None = None) -> Member:
    return Member(agent_id=f"{name}@t", name=name, joined_at=0, cwd="/", role=role)


def apply(table: TaskTable, body: object) -> None:
    assert isinstance(body, dict)
    table.apply(operations.stamp(body, table.seq + 1, AT, "user"))


@pytest.fixture
def table() -> TaskTable:
    """Task 2 waits for task 1; only a builder may take task 1."""
    table = TaskTable("t")
    apply(
        table, operations.create(table, NewTask(subject="A", requires=Requires(role="builder")), AT, "user")
    )
    apply(table, operations.create(table, NewTask(subject="B", blocked_by=("1",)), AT, "user"))
    return table


def test_a_ready_task_counts_only_if_somebody_alive_may_take_it(table: TaskTable) -> None:
    """Else the run would wait for ever."""
    assert can_progress(table, [a_member("b-1", "builder")])
    assert not can_progress(table, [a_member("w1")])
    assert not can_progress(table, [])
    assert why_stuck(table) == {
        "1": "not started: no teammate that may take it is left",
        "2": "not started: waits for task 1 (pending)",
    }


def test_who_ended_for_want_of_a_model_is_told_with_the_tasks_that_are_left(table: TaskTable) -> None:
    gone = {"b-1": "no access", "b-2": "no access", "b-3": "usage limit"}

    assert why_stuck(table, gone=gone)["1"] == (
        "not started: no teammate that may take it is left "
        "(b-1, b-2 ended: no access; b-3 ended: usage limit)"
    )


def test_a_task_in_progress_is_waited_for_whoever_has_it(table: TaskTable) -> None:
    """It may be somebody from outside."""
    apply(table, operations.claim(table, "b-1", "builder", RUN))
    assert can_progress(table, [])


def test_what_waits_for_a_failed_task_is_stuck(table: TaskTable) -> None:
    """A failed blocker unblocks nothing."""
    claimed = operations.claim(table, "b-1", "builder", RUN)
    apply(table, claimed)
    apply(table, operations.fail(table, "1", f"3/{RUN}", "no"))
    assert not can_progress(table, [a_member("b-1", "builder")])
    assert not all_finished(table)
    assert why_stuck(table) == {"2": "not started: waits for task 1 (failed)"}


def test_all_finished_means_nothing_is_pending_or_in_hand(table: TaskTable) -> None:
    """Cancelled and failed tasks are finished as well."""
    apply(table, operations.claim(table, "b-1", "builder", RUN))
    apply(table, operations.complete(table, "1", f"3/{RUN}", TaskResult(summary="x")))
    assert not all_finished(table)
    apply(table, operations.cancel(table, "2", "not wanted"))
    assert all_finished(table)
