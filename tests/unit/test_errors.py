"""Errors: code, exit code, JSON."""

from __future__ import annotations

import errno
import pickle

import pytest

from swarm.errors import EXIT_CODES, CycleError, LockTimeoutError, StorageIOError, SwarmError


@pytest.mark.parametrize(
    ("code", "exit_code"),
    [("bug", 1), ("bad_name", 2), ("no_such_task", 3), ("io_error", 4), ("denied", 5), ("task_failed", 6),
     ("budget_spent", 7), ("busy", 75), ("timed_out", 124), ("interrupted", 130)],
)  # fmt: skip
def test_the_exit_code_follows_from_the_code(code: str, exit_code: int) -> None:
    """Scripts rely on these numbers."""
    assert SwarmError("x", code=code).exit_code == exit_code


def test_no_code_stands_under_two_exit_codes() -> None:
    """One table, one meaning."""
    assert len(EXIT_CODES) == len(set(EXIT_CODES))
    assert len(EXIT_CODES) >= 40


@pytest.mark.parametrize(
    "error",
    [
        LockTimeoutError("tasks", 5.0, "lead@demo"),
        CycleError(("1", "2", "1")),
        StorageIOError("/x", OSError(errno.ENOSPC, "No space left on device")),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_survives_pickling(error: SwarmError) -> None:
    """It may cross a process border."""
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert copy.as_json() == error.as_json()


def test_a_lock_timeout_names_lock_time_and_holder() -> None:
    """The person learns whom to look at."""
    error = LockTimeoutError("tasks", 5.0, "lead@demo")
    assert str(error) == "tasks is still locked after 5.0s, held by lead@demo; try again"
    assert error.as_json()["error"]["details"] == {
        "lock": "tasks",
        "holder": "lead@demo",
        "waited_seconds": 5.0,
    }
