"""Teammates side by side in this process, who are stopped after the test."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.team.steps import W1, W2
from tests.support.live_team import LiveTeam


@pytest.fixture
async def make(isolated_home: Path):
    made: list[LiveTeam] = []

    def make_team(*tasks: dict, teammates=(W1, W2), **team) -> LiveTeam:
        facts = {"permissions": {"mode": "bypassPermissions"}, "teammates": list(teammates)}
        made.append(LiveTeam(isolated_home, **facts | {"tasks": list(tasks)} | team))
        return made[-1]

    yield make_team
    for team in made:
        await team.stop()
