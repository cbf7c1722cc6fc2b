"""Each turn ended with an idle notice that woke the lead, whose thanks set off the next one."""

from __future__ import annotations

from pathlib import Path

import pytest

from swarm.core.identity import LEADER
from swarm.core.message import parse_control
from tests.support.live_team import LiveTeam

NAMES = ("w1", "w2", "w3", "w4")
CHECKS = 5
TASK = {"key": "a", "subject": "A", "owner": "w1", "script": [{"say": "Done."}]}


@pytest.fixture
async def team(isolated_home: Path):
    made = LiveTeam(isolated_home, teammates=[{"name": name} for name in NAMES], tasks=[TASK])
    yield made
    await made.stop()


def notices(team: LiveTeam) -> list[str]:
    """Return who told the lead to be idle, in the order of arrival."""
    told = [(mail.sender, parse_control(mail.text)) for mail in team.mail(LEADER)]
    return [sender for sender, control in told if control and control["type"] == "idle_notification"]


async def test_each_worker_says_once_that_it_is_idle_and_thanks_change_nothing(team: LiveTeam) -> None:
    for name in NAMES:
        team.start(name)
    await team.until(lambda: sorted(notices(team)) == list(NAMES), "all have said that they are idle")
    before = len(team.mail(LEADER))
    for name in NAMES:
        team.send(name, "thanks")
    for _ in range(CHECKS):
        for name in NAMES:
            await team.until_looked(name)

    assert sorted(notices(team)) == list(NAMES)
    assert len(team.mail(LEADER)) == before
