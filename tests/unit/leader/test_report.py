"""The report that a person reads afterwards."""

from __future__ import annotations

from typing import Any

import pytest

from swarm.core.task import Task, TaskResult
from swarm.leader.outcome import RunResult, Spending
from swarm.leader.report import render_report


def a_result(*tasks: Task, outcome: str = "completed", denied: tuple[dict[str, Any], ...] = ()) -> RunResult:
    return RunResult(
        team="t1",
        run="abcdefgh",
        outcome=outcome,
        elapsed_seconds=3.0,
        backend="in-process",
        tasks=tasks,
        denied=denied,
        input_tokens=0,
        output_tokens=0,
        report="/r",
    )


def test_a_task_without_checks_is_called_unverified() -> None:
    """Done means checked; what nobody checked is said."""
    checked = Task(
        id="1",
        subject="A",
        description="",
        status="completed",
        verify=("true",),
        result=TaskResult(summary="S1"),
    )
    loose = Task(id="2", subject="B", description="", status="completed", result=TaskResult(summary="S2"))

    text = render_report(a_result(checked, loose), "", "/w", {}, ())

    assert "| 1 | A | completed |  | verified |  |" in text
    assert "| 2 | B | completed |  | **unverified** |  |" in text


@pytest.mark.parametrize(
    ("spending", "told"),
    [
        (Spending(), "- cost: $0.00\n"),
        (Spending(micros=1_250_000, tasks={"1": 250_000}), "- cost: $1.25\n"),
        (Spending(micros=1_250_000, limit=5_000_000), "- cost: $1.25 of $5.00\n"),
        (
            Spending(micros=10_000, reserved=35_000, limit=5_000_000),
            "- cost: $0.01 of $5.00; up to $0.04 more for calls whose end nobody saw\n",
        ),
        (Spending(unpriced=3), "- cost: $0.00; without 3 calls of models whose price is not known\n"),
    ],
)
def test_the_cost_is_told_with_what_is_not_known_of_it(spending: Spending, told: str) -> None:
    task = Task(id="1", subject="A", description="", status="completed", result=TaskResult(summary="S1"))

    text = render_report(a_result(task).replace(spending=spending), "", "/w", {}, ())

    assert told in text
    assert ("\nCost: $0.25.\n" in text) == bool(spending.tasks)


def test_summaries_reasons_diffstats_denials_and_loose_files_are_told() -> None:
    """Everything that a reviewer asks for stands in one file."""
    done = Task(
        id="1",
        subject="A | b\nc",
        description="",
        status="completed",
        owner="w",
        attempts=1,
        result=TaskResult(summary="Did it.", commit="abc1234", not_checked=("the docs",)),
    )
    failed = Task(id="2", subject="B", description="", status="failed", reason="parked: tests fail")
    denied = (
        {
            "agent": "w",
            "task": "2",
            "tool": "Bash",
            "input": {"command": "make  x"},
            "why": "no rule allows it.",
            "suggested_rule": "Bash(make:*)",
        },
    )

    text = render_report(
        a_result(done, failed, outcome="denied", denied=denied),
        "Why",
        "/w",
        {"1": " a.py | 2 +-\n"},
        ("left.txt",),
    )

    assert "| 1 | A \\| b c | completed | w |" in text
    for piece in (
        "Why",
        "Did it.",
        "Not checked: the docs",
        " a.py | 2 +-",
        "failed: parked: tests fail",
        "- `w, task 2: Bash(make x): no rule allows it; this rule would allow it: Bash(make:*)`",
        "- `left.txt`",
        "Attempts that failed: 1",
    ):
        assert piece in text, piece
