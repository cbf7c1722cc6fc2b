from __future__ import annotations

import json
from pathlib import Path

import pytest

from swarm.core.roster import Member
from swarm.errors import CorruptStateError, NotFoundError, StateError
from swarm.storage.roster import find_roster
from swarm.storage.team import Team


def a_member(name: str) -> Member:
    return Member(agent_id=f"{name}@demo", name=name, joined_at=1, cwd="/srv/app")


def test_members_come_change_and_go(team: Team) -> None:
    team.roster.add_member(a_member("w3"))
    team.roster.update_member("w3", model="scripted", role="builder")
    assert team.roster.load().names() == ("team-lead", "w1", "w2", "w3")
    assert team.roster.load().member("w3").model == "scripted"
    team.roster.remove_member("w3")
    team.roster.remove_member("w3")
    assert team.roster.load().names() == ("team-lead", "w1", "w2")


@pytest.mark.parametrize("name", ["w1", "W1", "Team-Lead"])
def test_name_that_differs_only_in_case_is_taken(team: Team, name: str) -> None:
    with pytest.raises(StateError) as caught:
        team.roster.add_member(a_member(name))
    assert caught.value.code == "name_taken"


def test_change_of_nobody_names_who_there_is(team: Team) -> None:
    with pytest.raises(NotFoundError) as caught:
        team.roster.update_member("w9", model="x")
    assert caught.value.details["valid"] == ["team-lead", "w1", "w2"]


def test_fields_of_other_clients_survive_a_change(team: Team) -> None:
    path = Path(team.layout.config)
    raw = json.loads(path.read_text())
    raw["leadProcess"] = {"pid": 1}
    raw["members"][1]["isActive"] = True
    path.write_text(json.dumps(raw))
    team.roster.update_member("w1", model="scripted")
    after = json.loads(path.read_text())
    assert after["leadProcess"] == {"pid": 1}
    assert after["members"][1]["isActive"] is True


@pytest.mark.parametrize("content", ["", "[]", '{"name": 1}', '{"name": "demo", "swarm": {"schema": 99}}'])
def test_roster_that_is_not_understood_is_never_replaced(team: Team, content: str) -> None:
    """An empty roster in its place would lose every member."""
    path = Path(team.layout.config)
    path.write_text(content)
    with pytest.raises(CorruptStateError):
        team.roster.add_member(a_member("w3"))
    assert path.read_text() == content


def test_roster_of_a_deleted_team_is_not_made_again(team: Team) -> None:
    Path(team.layout.config).unlink()
    with pytest.raises(NotFoundError) as caught:
        team.roster.add_member(a_member("w3"))
    assert caught.value.code == "no_such_team"
    assert find_roster(team.layout.config) is None
