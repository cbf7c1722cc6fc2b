"""Two senders at the same moment: one message vanished, while both saw success."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from swarm.core.identity import LEADER
from swarm.core.roster import Member
from tests.support.racers import race
from tests.support.stores import make_team, reopened
from tests.support.verbs import RACER, reading, verb

pytestmark = pytest.mark.timeout(60)  # many processes, for a machine that is busy with others

EACH = 25
SENDERS = [f"s{number}" for number in range(20)]
SEND = f"""
codes = [verb(root, "send", "team-lead", f"{{name}}:{{n}}", "--as", name).code for n in range({EACH})]
say(codes)
"""


def test_every_message_of_parallel_senders_arrives_in_order(tmp_path: Path) -> None:
    """A reader without a lock sees valid JSON all the time."""
    team = make_team(tmp_path)
    for name in SENDERS:
        team.roster.add_member(Member(agent_id=f"{name}@demo", name=name, joined_at=0, cwd="/"))
    with reading(tmp_path / "teams/demo/inboxes") as (reader,):
        told = race(tmp_path, SENDERS, RACER + SEND)

    assert told == [[0] * EACH] * len(SENDERS)
    assert reader.faults == []
    assert reader.reads > 0
    texts = [m["text"] for m in verb(tmp_path, "mail", LEADER, "--json").json()["messages"]]
    assert len(texts) == len(set(texts)) == EACH * len(SENDERS)
    for sender in SENDERS:
        assert [text for text in texts if text.startswith(f"{sender}:")] == [
            f"{sender}:{number}" for number in range(EACH)
        ]


def test_the_array_stays_small_while_mail_waits(tmp_path: Path) -> None:
    """What does not fit waits beside it, and is shown with it."""
    team = make_team(tmp_path)
    for number in range(10):
        assert verb(tmp_path, "send", LEADER, str(number), "--as", "w1").code == 0

    shown = [message.text for message in reopened(team).inbox(LEADER).peek()]
    assert shown == [str(number) for number in range(10)]
    assert len(json.loads(Path(team.layout.inbox(LEADER)).read_text())) <= 128
