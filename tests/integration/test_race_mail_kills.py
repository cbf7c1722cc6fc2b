"""The reader of an inbox is killed, started again, and killed again."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.kill_pairs import MAILS
from tests.support.racers import REPOSITORY


def kill_twice(folder: Path, mail: str, step: int) -> int:
    """Return how many pairs of kills were tried."""
    command = [sys.executable, "-m", "tests.support.kill_pairs", str(folder), mail, str(step)]
    ended = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return int(ended.stdout.split()[0])


@pytest.mark.parametrize("mail", MAILS)
def test_reader_killed_twice_shows_each_message_once(tmp_path: Path, mail: str) -> None:
    """A second kill must not hide from the third life what the first one had only half done."""
    assert kill_twice(tmp_path, mail, step=12) > 50


@pytest.mark.soak
@pytest.mark.parametrize("mail", MAILS)
def test_reader_killed_at_every_pair_of_places_shows_each_message_once(tmp_path: Path, mail: str) -> None:
    assert kill_twice(tmp_path, mail, step=1) > 700
