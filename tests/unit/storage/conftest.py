from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from swarm.storage.tasks import TaskStore
from swarm.storage.team import Team
from swarm.testing.clock import FakeClock
from tests.support.stores import make_team


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def team(tmp_path: Path, clock: FakeClock) -> Iterator[Team]:
    """A new team of the leader, w1 and w2, whose time stands still."""
    made = make_team(tmp_path / "root", clock=clock)
    yield made
    made.close()


@pytest.fixture
def store(team: Team) -> TaskStore:
    """The tasks of that team, as a person changes them."""
    return team.tasks("user")
