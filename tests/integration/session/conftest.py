"""A team of one whose sessions are played one by one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.integration.session.steps import READ_FIRST, TEAMMATES, a_task
from tests.support.live_team import LiveTeam


@pytest.fixture
def make(isolated_home: Path):
    def make_team(*tasks: dict, mode: str = "bypassPermissions", **team) -> LiveTeam:
        facts = {"teammates": TEAMMATES, "permissions": {"mode": mode}, "tasks": list(tasks)}
        return LiveTeam(isolated_home, **facts | team)

    return make_team


@pytest.fixture
def asking(make):
    """Return a team whose one task makes these calls, in a mode in which all of them need a person."""

    def make_asking(*calls: dict[str, Any], denied: bool = False, **facts: Any) -> LiveTeam:
        turn: dict[str, Any] = {"calls": list(calls)} | ({"expect": "error"} if denied else {})
        turns = facts.pop("turns", [READ_FIRST, turn, {"say": "Done."}])
        team: LiveTeam = make(a_task(*turns), **{"mode": "default"} | facts)
        team.write("old.txt", "a\n")
        (team.workspace.parent / "outside").mkdir()
        (team.workspace.parent / "outside" / "secret.txt").write_text("hidden\n")
        return team

    return make_asking
