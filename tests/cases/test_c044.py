"""Mail to an agent that had ended was queued for ever, and looked as if it were delivered."""

from __future__ import annotations

from pathlib import Path

import pytest

from swarm.core.agent import AgentRecord
from tests.support.stores import make_team
from tests.support.verbs import verb
from tests.unit.cli.steps import a_record

NOBODY = 2**22 - 1  # no system gives its processes a higher number


@pytest.mark.parametrize(
    ("record", "state"),
    [
        (a_record("w1", "stopped", reason="asked"), "stopped"),
        (a_record("w1", "working").replace(pid=NOBODY), "dead"),
    ],
    ids=["stopped", "dead"],
)
def test_mail_to_one_that_has_ended_says_so_and_waits_where_it_can_be_seen(
    record: AgentRecord, state: str, tmp_path: Path
) -> None:
    team = make_team(tmp_path)
    team.agents.save(record)

    said = verb(tmp_path, "send", "w1", "are you there?")
    told = verb(tmp_path, "send", "w1", "really?", "--json").json()

    assert said.out == f"sent to w1 ({state}: will read it when started again)\n"
    assert told["results"][0]["recipient"] == state
    waiting = verb(tmp_path, "mail", "w1", "--json").json()["messages"]
    assert [(message["text"], message["acked"]) for message in waiting] == [
        ("are you there?", False),
        ("really?", False),
    ]
    agents = {agent["name"]: agent for agent in verb(tmp_path, "status", "--json").json()["agents"]}
    assert (agents["w1"]["state"], agents["w1"]["unread"]) == (state, 2)


def test_mail_to_one_that_never_began_says_so(tmp_path: Path) -> None:
    make_team(tmp_path)

    assert verb(tmp_path, "send", "w1", "hello").out == "sent to w1 (not started yet)\n"


def test_mail_to_one_that_is_idle_names_its_state(tmp_path: Path) -> None:
    team = make_team(tmp_path)
    team.agents.save(a_record("w1", "idle", reason="no_task"))

    assert verb(tmp_path, "send", "w1", "hello").out == "sent to w1 (idle)\n"
