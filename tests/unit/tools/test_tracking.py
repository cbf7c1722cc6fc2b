"""The list of running tools on disk is what others end when an agent is found dead."""

from __future__ import annotations

import pytest

from swarm.errors import StateError
from swarm.storage.team import Team
from tests.support.tools import ToolBench


def names(team: Team) -> list[str]:
    record = team.agents.load("builder-1")
    assert record is not None
    return [f"{tool.tool_use_id} {tool.name} {tool.pgid} {tool.start_ticks}" for tool in record.tools]


def test_entries_come_and_go_by_call(bench: ToolBench, team: Team) -> None:
    track = bench.context.track
    track.started("a", "Bash", 10, 100)
    track.started("b", "verify", 20, 200)
    assert names(team) == ["a Bash 10 100", "b verify 20 200"]

    track.ended("a")
    track.ended("unknown")
    assert names(team) == ["b verify 20 200"]

    track.ended("b")
    assert names(team) == []


def test_a_life_that_was_given_up_starts_no_command(bench: ToolBench, team: Team) -> None:
    """Whoever gave it up has ended its commands already; a new one would be left running."""
    assert team.agents.end_life(bench.run_id, "killed")

    with pytest.raises(StateError, match="given up"):
        bench.context.track.started("a", "Bash", 10, 100)

    bench.context.track.ended("a")
    assert names(team) == []
