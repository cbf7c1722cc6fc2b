"""Forty joined at the same moment and all were told success; far fewer were in the team file."""

from __future__ import annotations

from pathlib import Path

import pytest

from swarm.core.identity import LEADER
from swarm.core.roster import Member
from tests.support.racers import race
from tests.support.stores import make_team
from tests.support.verbs import verb

pytestmark = pytest.mark.timeout(60)  # many processes, for a machine that is busy with others

CHANGE = """
from swarm.core.roster import Member
if name.startswith("leaves"):
    team.roster.remove_member(name)
else:
    for n in range(2):
        team.roster.add_member(Member(agent_id=f"{name}-{n}@demo", name=f"{name}-{n}", joined_at=0, cwd="/"))
say("done")
"""


def test_who_joins_and_leaves_at_the_same_moment_is_all_written_down(tmp_path: Path) -> None:
    team = make_team(tmp_path)
    leaving = [f"leaves{number}" for number in range(4)]
    for name in leaving:
        team.roster.add_member(Member(agent_id=f"{name}@demo", name=name, joined_at=0, cwd="/"))
    joining = [f"p{number}" for number in range(8)]

    race(tmp_path, [*joining, *leaving], CHANGE)

    expected = {LEADER, "w1", "w2", *(f"{name}-{n}" for name in joining for n in range(2))}
    names = team.roster.load().names()
    assert (len(names), set(names)) == (len(expected), expected)
    shown = {agent["name"] for agent in verb(tmp_path, "status", "--json").json()["agents"]}
    assert shown == expected - {LEADER}
