"""A person's home and repository."""

from __future__ import annotations

import pytest

from tests.unit.workspace.repositories import run


@pytest.fixture
def home(isolated_home, monkeypatch):
    """A person who has told git nothing, on a machine that has told it nothing either."""
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.delenv("EMAIL", raising=False)
    return isolated_home


@pytest.fixture
def repository(home, tmp_path):
    path = tmp_path / "repo"
    path.mkdir()
    run(path, "init", "-q", "-b", "main")
    (path / "old.txt").write_text("old\n")
    run(path, "add", "old.txt")
    run(path, "-c", "user.name=P", "-c", "user.email=p@x.invalid", "commit", "-q", "-m", "start")
    return path
