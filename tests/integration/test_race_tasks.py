"""Many processes that race for the same tasks, with trouble and without; the whole history is checked."""

from __future__ import annotations

from pathlib import Path

from tests.support.races import task_race

TASKS = 100


def test_every_task_is_completed_once_by_whoever_holds_it(tmp_path: Path) -> None:
    counts = task_race(tmp_path, 1, tasks=TASKS)
    assert counts["completed"] == TASKS
    assert counts["refused"] == 0


def test_kills_lose_no_task_and_double_none(tmp_path: Path) -> None:
    """A killed worker may have completed a task without having been told so; nothing else is open."""
    counts = task_race(tmp_path, 2, "kill", tasks=TASKS)
    assert counts["kills"] > 0
    assert TASKS - counts["kills"] <= counts["completed"] <= TASKS


def test_worker_that_was_given_up_and_goes_on_is_refused(tmp_path: Path) -> None:
    """It was stopped, somebody else may have its task by now: what it brings then changes nothing."""
    counts = task_race(tmp_path, 3, "stop", tasks=TASKS)
    assert counts["stops"] > 0
    assert counts["refused"] <= counts["freed_alive"]
    assert counts["completed"] == TASKS
