"""How a run is judged."""

from __future__ import annotations

from typing import Any

import pytest

from swarm.core.task import Task, TaskResult
from swarm.leader.outcome import EXIT_OF_OUTCOME, RunResult, Spending, decide_outcome, render_result


def a_task(number: str, status: str, **more: Any) -> Task:
    return Task(id=number, subject=f"Task {number}", description="", status=status, **more)


DONE, FAILED, LEFT = a_task("1", "completed"), a_task("2", "failed"), a_task("3", "pending")
DENIED_2 = {"task": "2", "tool": "Bash"}
DENIED_1 = {"task": "1", "tool": "Bash"}


@pytest.mark.parametrize(
    ("tasks", "denied", "interrupted", "timed_out", "outcome"),
    [
        ([DONE], [], False, False, "completed"),
        ([DONE], [DENIED_1], False, False, "completed"),
        ([DONE, FAILED], [], False, False, "tasks_failed"),
        ([DONE, LEFT], [], False, False, "tasks_failed"),
        ([DONE, a_task("4", "cancelled")], [], False, False, "tasks_failed"),
        ([DONE, FAILED], [DENIED_1], False, False, "tasks_failed"),
        ([DONE, FAILED], [DENIED_2], False, False, "denied"),
        ([DONE, FAILED], [DENIED_2], False, True, "timed_out"),
        ([DONE], [], False, True, "completed"),
        ([DONE, FAILED], [DENIED_2], True, True, "interrupted"),
    ],
)
def test_the_worst_that_applies_is_the_outcome(
    tasks: list[Task], denied: list[dict[str, str]], interrupted: bool, timed_out: bool, outcome: str
) -> None:
    """130 > 124 > 7 > 5 > 6; a denial counts only where the task did not get done."""
    assert decide_outcome(tasks, denied, interrupted=interrupted, timed_out=timed_out) == outcome


@pytest.mark.parametrize(
    ("tasks", "more", "outcome"),
    [
        ([DONE, LEFT], {}, "budget_spent"),
        ([DONE, FAILED, LEFT], {"denied": [DENIED_2]}, "budget_spent"),
        ([DONE, LEFT], {"timed_out": True}, "timed_out"),
        ([DONE, LEFT], {"interrupted": True}, "interrupted"),
        ([DONE], {}, "completed"),
    ],
)
def test_a_spent_budget_comes_after_the_time_and_before_denials(
    tasks: list[Task], more: dict[str, Any], outcome: str
) -> None:
    facts: dict[str, Any] = {"denied": [], "interrupted": False, "timed_out": False, "budget_spent": True}

    assert decide_outcome(tasks, **facts | more) == outcome


def test_what_calls_have_cost_is_told_in_all_and_by_task() -> None:
    """A task that no call was for has cost nothing."""
    spending = Spending(micros=1_250_000, tasks={"1": 250_000}, limit=5_000_000)
    shown = render_result(
        RunResult(
            team="t", run="abcdefgh", outcome="tasks_failed", elapsed_seconds=1.0, backend="in-process",
            tasks=(DONE, LEFT), denied=(), input_tokens=0, output_tokens=0, report="/r", spending=spending,
        )
    )  # fmt: skip

    assert shown["usd"] == 1.25
    assert [task["usd"] for task in shown["tasks"]] == [0.25, 0.0]


def test_exit_codes_are_those_of_the_contract() -> None:
    """Scripts rely on these numbers."""
    assert EXIT_OF_OUTCOME == {
        "completed": 0,
        "denied": 5,
        "tasks_failed": 6,
        "budget_spent": 7,
        "timed_out": 124,
        "interrupted": 130,
    }


def test_json_leaves_out_what_is_not_there() -> None:
    """Absent is absent, never null; reasons go with failed tasks, `verified` with completed ones."""
    done = a_task(
        "1", "completed", owner="b", verify=("true",), result=TaskResult(summary="Did it.", commit="abc")
    )
    failed = a_task("2", "failed", reason="parked: no")
    shown = render_result(
        RunResult(
            team="t",
            run="abcdefgh",
            outcome="tasks_failed",
            elapsed_seconds=1.26,
            backend="in-process",
            tasks=(done, failed),
            denied=(),
            input_tokens=1,
            output_tokens=2,
            report="/r",
        )
    )

    assert shown["exit_code"] == 6
    assert shown["elapsed_seconds"] == 1.3
    assert shown["tasks"] == [
        {
            "id": "1", "subject": "Task 1", "status": "completed", "owner": "b", "summary": "Did it.",
            "files": [], "commit": "abc", "verified": True, "attempts": 0, "usd": 0.0,
        },
        {
            "id": "2", "subject": "Task 2", "status": "failed", "reason": "parked: no",
            "attempts": 0, "usd": 0.0,
        },
    ]  # fmt: skip
