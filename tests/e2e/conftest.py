from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.command import Shell


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """A shell in an empty folder with an empty home."""
    home, cwd = tmp_path / "home", tmp_path / "cwd"
    home.mkdir()
    cwd.mkdir()
    return Shell(home, cwd)
