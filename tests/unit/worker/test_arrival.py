"""Coming up: quick, so that whoever started a worker need not wait for what only the work needs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from swarm.core.spawn import RuleSet
from tests.support.command import REPOSITORY
from tests.support.live_team import LiveTeam
from worker.arrival import come_up

HEAVY = ("anthropic", "asyncio", "networkx", "psutil", "pydantic", "rich", "yaml")
TASK = {"key": "a", "subject": "Do it", "script": [{"say": "Done."}]}


@pytest.fixture
def team(isolated_home: Path) -> LiveTeam:
    return LiveTeam(isolated_home, teammates=[{"name": "w1"}], tasks=[TASK])


def test_nothing_heavy_is_imported_before_a_worker_is_ready():
    """Each of these takes longer than all that is needed to say that it is there."""
    code = f"import sys, worker.__main__; print(sorted(set({HEAVY}) & set(sys.modules)))"

    done = subprocess.run(
        [sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )

    assert done.stdout == "[]\n"


def test_who_has_come_up_says_so_once(team):
    """The record tells who waits for it; a second word would be a second life to whoever counts them."""
    arrival = come_up(team.spec("w1"))
    assert arrival is not None
    arrival.presence.ready()
    arrival.team.close()

    record = team.team.agents.load("w1")
    assert (record.state, record.reason) == ("idle", "no_task")
    assert len(team.events("agent_ready")) == 1


@pytest.mark.parametrize(
    "changes",
    [
        {"permission_mode": "nonsense"},
        {"rules": (RuleSet(source="x", ask=("Bash(",)),)},
        {"model": "unheard-of"},
    ],
)
def test_who_was_told_nonsense_fails_before_it_is_ready(team, changes):
    """So its start is not confirmed, and the log says why."""
    assert come_up(team.spec("w1", **changes)) is None

    record = team.team.agents.load("w1")
    assert (record.state, record.reason) == ("stopped", "failed")
    assert team.events("agent_ready") == []
    assert "teammate not started" in Path(team.team.layout.log("w1")).read_text()
