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
