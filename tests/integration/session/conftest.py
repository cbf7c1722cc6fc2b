"""A team of one whose sessions are played one by one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.session.steps import TEAMMATES
from tests.support.live_team import LiveTeam


@pytest.fixture
def make(isolated_home: Path):
    def make_team(*tasks: dict, mode: str = "bypassPermissions", **team) -> LiveTeam:
        facts = {"teammates": TEAMMATES, "permissions": {"mode": mode}, "tasks": list(tasks)}
        return LiveTeam(isolated_home, **facts | team)

    return make_team
