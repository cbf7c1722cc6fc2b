"""`kill -9` of a run that has not begun yet: no task is missing when it is taken up."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.command import REPOSITORY


@pytest.mark.timeout(60)
def test_a_run_killed_while_its_tasks_are_made_has_them_all_when_taken_up(tmp_path: Path) -> None:
    """At every system call: either there is no team, or `resume` finds all that the team file says."""
    command = [sys.executable, "-m", "tests.support.launch_kills", str(tmp_path)]
    ended = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)

    assert ended.returncode == 0, ended.stderr
    assert int(ended.stdout) > 10
