"""A name with a typing error made a new mailbox that nobody reads, and sending said success."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from swarm.core.identity import LEADER
from swarm.core.roster import Member
from tests.support.stores import make_team
from tests.support.verbs import error_of, verb


@pytest.mark.parametrize(
    "name", ["wroker", "builder", "W1", "TEAM-LEAD", "", "user", "main", "leader", "w1@demo", "../w1", "w1 "]
)
def test_mail_to_nobody_is_refused_with_the_names_that_would_do(name: str, tmp_path: Path) -> None:
    """Neither an alias nor the role of a member is a name."""
    team = make_team(tmp_path)
    team.roster.add_member(
        Member(agent_id="builder-1@demo", name="builder-1", joined_at=0, role="builder", cwd="/")
    )
    before = sorted(os.listdir(team.layout.inboxes_dir))

    ended = verb(tmp_path, "send", "--json", "--as", "w2", "--", name, "hi")

    assert ended.code == 3
    error = error_of(ended)
    assert error["code"] == "no_such_agent"
    assert error["details"]["valid"] == [LEADER, "w1", "builder-1"]
    assert sorted(os.listdir(team.layout.inboxes_dir)) == before
    assert verb(tmp_path, "mail", "--json", "--", name).code == 3


def test_an_agent_cannot_write_to_itself(tmp_path: Path) -> None:
    make_team(tmp_path)

    assert error_of(verb(tmp_path, "send", "w1", "hi", "--as", "w1", "--json"))["code"] == "bad_value"
