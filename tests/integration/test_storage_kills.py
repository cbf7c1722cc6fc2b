"""Processes that are killed in the middle of an operation."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.stores import OPERATIONS

REPOSITORY = Path(__file__).parents[2]


@pytest.mark.parametrize("name", list(OPERATIONS))
def test_killed_operation_happened_or_did_not(tmp_path: Path, name: str) -> None:
    """At every system call, and inside every write: afterwards all views agree, and the next one goes on."""
    command = [sys.executable, "-m", "tests.support.kill_points", str(tmp_path), name]
    ended = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert "'before': 0" not in ended.stdout
    assert "'after': 0" not in ended.stdout


STEPS = {"rewrite": 3, "edit": 4, "edit_by_hand": 12, "new_by_hand": 12}


@pytest.mark.timeout(60)
@pytest.mark.parametrize(("name", "step"), STEPS.items())
def test_operation_that_was_killed_twice_happens_once(tmp_path: Path, name: str, step: int) -> None:
    """The second one dies while it mends what the first has left, or while it does it again."""
    kill_twice(tmp_path, name, step)


@pytest.mark.soak
@pytest.mark.parametrize("name", STEPS)
def test_operation_that_was_killed_at_any_two_places_happens_once(tmp_path: Path, name: str) -> None:
    kill_twice(tmp_path, name, 1)


def kill_twice(folder: Path, name: str, step: int) -> None:
    command = [sys.executable, "-m", "tests.support.kill_points", str(folder), name, str(step)]
    ended = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
