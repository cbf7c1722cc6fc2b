"""What the tests of tools share: a team in a temporary folder, with an agent at work in a workspace."""

from __future__ import annotations

from pathlib import Path

import pytest

from swarm.storage.team import Team
from tests.support.tools import ToolBench, make_team
from tests.unit.tools.probe import Probe


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    return tmp_path / "work"


@pytest.fixture
def team(tmp_path: Path, workspace: Path) -> Team:
    return make_team(tmp_path / "root", workspace)


@pytest.fixture
def bench(team: Team, workspace: Path) -> ToolBench:
    return ToolBench(team, workspace)


@pytest.fixture
def probe(bench: ToolBench) -> Probe:
    probe = Probe(bench.team.settings)
    bench.tools = (*bench.tools, probe)
    return probe
