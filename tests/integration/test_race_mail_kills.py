"""The reader of an inbox is killed, started again, and killed again."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.kill_pairs import MAILS
from tests.support.races import kill_reader_twice


@pytest.mark.timeout(60)
@pytest.mark.parametrize("mail", MAILS)
def test_reader_killed_twice_shows_each_message_once(tmp_path: Path, mail: str) -> None:
    """A second kill must not hide from the third life what the first one had only half done."""
    assert kill_reader_twice(tmp_path, mail, step=16) > 40
