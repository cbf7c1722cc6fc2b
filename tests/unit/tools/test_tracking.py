"""The list of running tools on disk is what others end when an agent is found dead."""

from __future__ import annotations

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
