"""The leader's mailbox was never emptied; after a thousand messages new ones were read and not shown."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from swarm.core.identity import LEADER
from swarm.settings import Settings
from swarm.storage.clock import SystemClock
from swarm.storage.mail import send
from swarm.storage.team import Team
from tests.support.stores import make_team
from tests.support.verbs import verb

pytestmark = pytest.mark.timeout(60)  # many processes, for a machine that is busy with others

MANY = 5_000
TEXT = "x" * 400


@pytest.fixture
def full(tmp_path: Path) -> Team:
    """A team whose leader has 5,000 messages, 2 MB of text, that it has not read."""
    made = make_team(tmp_path)
    team = Team(made.layout, Settings(durability="none"), SystemClock())
    for number in range(MANY):
        send(team, "w1", LEADER, f"{number} {TEXT}")
    return team


def sent_and_shown(root: Path) -> tuple[float, float, list[str]]:
    """Send one more; return how long that took, how long until it could be seen, and what is waiting.

    The time that this process had, which others on the machine do not change.
    """
    started = time.process_time()
    assert verb(root, "send", LEADER, "one more", "--as", "w2").code == 0
    took = time.process_time() - started
    waiting = verb(root, "mail", LEADER, "--json").json()["messages"]
    return took, time.process_time() - started, [message["text"] for message in waiting]


def size(path: str) -> int:
    return os.path.getsize(path) if os.path.exists(path) else 0


def test_one_more_is_shown_at_once_and_what_waits_is_bounded(full: Team, tmp_path: Path) -> None:
    took, until_shown, texts = sent_and_shown(tmp_path)
    assert (took < 0.5, until_shown < 3) == (True, True), (took, until_shown)
    assert (len(texts), texts[-1]) == (MANY + 1, "one more")
    assert size(full.layout.inbox(LEADER)) <= full.settings.inbox_max_bytes

    box = full.inbox(LEADER)
    box.acknowledge([message.msg_id for message in box.peek()])
    took, until_shown, texts = sent_and_shown(tmp_path)

    assert (took < 0.5, until_shown < 3) == (True, True), (took, until_shown)
    assert texts == ["one more"]
    assert size(full.layout.inbox(LEADER)) < 1_000
    assert size(full.layout.overflow(LEADER)) == 0
    assert verb(tmp_path, "team", "prune", "demo", "--force").code == 0
    assert size(full.layout.history(LEADER)) == 0
    assert [message.text for message in box.peek()] == ["one more"]
