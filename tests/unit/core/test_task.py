from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from swarm.core.task import (
    FINISHED,
    STATUSES,
    Claim,
    Requires,
    Task,
    TaskResult,
    may_move,
    parse_task,
    render_task,
    verified,
)

MINIMAL: dict[str, Any] = {
    "id": "1", "subject": "Do it", "description": "", "status": "pending", "blocks": [], "blockedBy": [],
}  # fmt: skip


def test_status_moves_along_these_lines_only() -> None:
    moves = {(old, new) for old, new in product(STATUSES, STATUSES) if may_move(old, new)}

    assert moves == {
        ("pending", "in_progress"),
        ("pending", "cancelled"),
        ("in_progress", "completed"),
        ("in_progress", "failed"),
        ("in_progress", "cancelled"),
        ("in_progress", "pending"),
        ("failed", "pending"),
        ("cancelled", "pending"),
    }


def test_finished_is_whatever_has_ended() -> None:
    ended = {status for status in STATUSES if Task(id="1", subject="x", status=status).finished}

    assert ended == FINISHED == {"completed", "failed", "cancelled"}


@pytest.mark.parametrize(
    ("requires", "fitting"),
    [
        (Requires(), {"builder-1", "builder-2", "w1"}),
        (Requires(agent="builder-1"), {"builder-1"}),
        (Requires(role="builder"), {"builder-1", "builder-2"}),
        (Requires(agent="w1", role="builder"), {"w1"}),
        (Requires(agent="builder"), set()),
    ],
)
def test_a_requirement_names_an_agent_or_a_role(requires: Requires, fitting: set[str]) -> None:
    """An agent's name is not a role, nor the other way round."""
    roles = {"builder-1": "builder", "builder-2": "builder", "w1": None}

    assert {name for name, role in roles.items() if requires.fits(name, role)} == fitting


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, True),
        ({"verify": ()}, False),
        ({"status": "failed"}, False),
        ({"result": TaskResult(summary="Done.", not_checked=("verify",))}, False),
        ({"result": TaskResult(summary="Done.", not_checked=("on Windows",))}, True),
        ({"result": None}, True),
    ],
)
def test_verified_means_that_its_checks_ran(changes: dict[str, Any], expected: bool) -> None:
    task = Task(id="1", subject="x", status="completed", verify=("true",), result=TaskResult(summary="Done."))

    assert verified(task.replace(**changes)) == expected


def test_a_task_of_another_client_has_nothing_of_ours() -> None:
    task = parse_task(MINIMAL)

    assert (task.seq, task.attempts, task.owner, task.created_by) == (0, 0, None, "")
    assert render_task(task) == MINIMAL


def test_what_another_client_leaves_out_gets_its_default() -> None:
    task = parse_task({"id": "1", "subject": "Do it", "status": "completed", "owner": ""})

    assert (task.description, task.blocks, task.owner) == ("", (), None)


def test_metadata_of_others_stands_beside_ours() -> None:
    obj = MINIMAL | {"activeForm": "Doing it", "metadata": {"tag": "x", "swarm": {"seq": 3}}}
    task = parse_task(obj)

    assert (task.seq, task.metadata, task.active_form) == (3, {"tag": "x"}, "Doing it")
    assert render_task(task) == obj


def test_counts_are_written_together_or_not_at_all() -> None:
    task = Task(id="1", subject="x", crashes=2)

    assert render_task(task)["metadata"]["swarm"] == {"attempts": 0, "crashes": 2}
    assert "metadata" not in render_task(task.replace(crashes=0))


def test_a_full_task_comes_back() -> None:
    task = Task(
        id="7",
        subject="Do it",
        description="All of it.",
        status="failed",
        owner="w1",
        active_form="Doing it",
        blocks=("9",),
        blocked_by=("3",),
        seq=5,
        key="api",
        created_by="user",
        created_at="t0",
        updated_at="t1",
        requires=Requires(agent="w1", extra={"x": 1}),
        files=("api/**",),
        verify=("true",),
        attempts=3,
        crashes=1,
        claim=Claim(agent="w1@demo", run_id="r.w1.1", token="4/r.w1.1", at="t1", extra={"x": 1}),
        result=TaskResult(summary="Half.", commit="9f1c2ab", extra={"x": 1}),
        reason="no luck",
        metadata={"tag": "x"},
        extra={"theirs": None},
        swarm_extra={"later": 1},
    )

    assert parse_task(render_task(task)) == task


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"id": 1}, "id should be text"),
        ({"id": "07"}, "decimal"),
        ({"id": "../7"}, "decimal"),
        ({"id": "\u0667"}, "decimal"),
        ({"id": ""}, "decimal"),
        ({"subject": None}, "subject should be text"),
        ({"status": "deleted"}, "status should be one of"),
        ({"blocks": "9"}, "blocks should be a list"),
        ({"metadata": []}, "metadata should be an object"),
        ({"metadata": {"swarm": 1}}, "swarm should be an object"),
        ({"metadata": {"swarm": {"claim": {}}}}, "agent should be text"),
        ({"metadata": {"swarm": {"result": {}}}}, "summary should be text"),
        ({"metadata": {"swarm": {"seq": "1"}}}, "seq should be a whole number"),
    ],
)
def test_a_file_that_is_no_task_is_refused(changes: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        parse_task(MINIMAL | changes)
