"""Changes of roster, agent records, permissions and inboxes that are killed, or fail, half-way."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.racers import REPOSITORY
from tests.support.record_kills import CHANGES


@pytest.mark.parametrize("change", list(CHANGES))
def test_cut_off_change_happened_or_did_not(tmp_path: Path, change: str) -> None:
    """At every system call, killed and refused: every file parses, and the change can be made again."""
    command = [sys.executable, "-m", "tests.support.record_kills", str(tmp_path), change]
    ended = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout)["before"] > 5
