from __future__ import annotations

from typing import Any

import pytest

from swarm.core.roster import SPAWN_COMMAND, Member, Roster, parse_roster, render_roster
from swarm.core.spawn import RuleSet
from swarm.errors import ConfigError, NotFoundError


def a_member(name: str, **fields: Any) -> Member:
    return Member(agent_id=f"{name}@demo", name=name, joined_at=1, cwd="/srv/app", **fields)


ROSTER = Roster(
    name="demo",
    created_at=1,
    lead_agent_id="team-lead@demo",
    members=(
        a_member("team-lead"),
        a_member("builder-1", role="builder"),
        a_member("builder-2", role="builder"),
        a_member("w1"),
    ),
    schema=1,
)


def test_members_are_found_by_their_name() -> None:
    assert ROSTER.member("w1").agent_id == "w1@demo"
    assert ROSTER.find("nobody") is None
    assert ROSTER.names() == ("team-lead", "builder-1", "builder-2", "w1")


def test_an_unknown_member_is_an_error_with_the_names_that_exist() -> None:
    with pytest.raises(NotFoundError, match="no agent nobody in team demo") as error:
        ROSTER.member("nobody")

    assert error.value.code == "no_such_agent"
    assert error.value.details == {"value": "nobody", "valid": list(ROSTER.names())}


def test_members_of_one_role_are_listed_together() -> None:
    assert ROSTER.roles() == {"builder": ("builder-1", "builder-2")}
    assert ROSTER.role_of("builder-2") == "builder"
    assert ROSTER.role_of("w1") is None
    assert ROSTER.role_of("nobody") is None


def test_a_member_joins_at_the_end_and_returns_to_its_place() -> None:
    """Spawned again under its name, a member keeps its place, and so its colour."""
    joined = ROSTER.with_member(a_member("w2"))
    again = joined.with_member(a_member("builder-1", model="scripted"))

    assert joined.names()[-1] == "w2"
    assert again.names() == joined.names()
    assert again.member("builder-1").model == "scripted"
    assert again.without_member("builder-1").names() == ("team-lead", "builder-2", "w1", "w2")


def test_a_full_member_comes_back() -> None:
    member = a_member(
        "w9",
        color="blue",
        tmux_pane_id="%5",
        subscriptions=("x",),
        agent_type="explore",
        model="m",
        prompt="Go.",
        plan_mode_required=True,
        backend_type="tmux",
        role="w",
        permission_mode="default",
        rules=RuleSet(source=SPAWN_COMMAND, deny=("Bash(rm:*)",)),
        extra={"isActive": True},
        swarm_extra={"later": 1},
    )
    roster = ROSTER.replace(
        members=(member,), description="d", lead_session_id="s", extra={"leadProcess": {}}
    )

    assert parse_roster(render_roster(roster)) == roster


def test_a_foreign_team_is_read_and_told_apart() -> None:
    foreign = parse_roster({"name": "session-1286a321"})

    assert not foreign.is_ours
    assert foreign.members == ()
    assert "swarm" not in render_roster(foreign)
    assert ROSTER.is_ours


@pytest.mark.parametrize(
    ("obj", "why"),
    [
        ({"name": "demo", "swarm": {"schema": 2}}, "schema 2 is not known"),
        ({"name": "demo", "members": {}}, "members should be a list"),
        ({"name": "demo", "members": ["w1"]}, "a member should be an object"),
        ({"members": []}, "name should be text"),
    ],
)
def test_a_roster_that_we_do_not_understand_is_refused(obj: dict[str, Any], why: str) -> None:
    """Never replaced by an empty one: it may be somebody's whole team."""
    with pytest.raises(ValueError, match=why):
        parse_roster(obj)


def test_a_member_has_one_spelling() -> None:
    roster = Roster(name="demo", created_at=0, lead_agent_id="team-lead@demo").with_member(
        Member(agent_id="bob@demo", name="bob", joined_at=0, cwd="/")
    )
    roster.check_spelling("bob")
    roster.check_spelling("alice")
    with pytest.raises(ConfigError, match="but bob; write it like that") as caught:
        roster.check_spelling("Bob")
    assert (caught.value.code, caught.value.details["suggestion"]) == ("bad_name", "bob")
