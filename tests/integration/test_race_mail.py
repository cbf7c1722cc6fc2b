"""A storm of mail at one agent that reads and acknowledges, with kills among all of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.races import mail_storm

pytestmark = pytest.mark.timeout(60)


def test_every_message_of_twenty_senders_reaches_the_model_once(tmp_path: Path) -> None:
    """In order for each sender, while others look at the files without a lock and never see half of one."""
    counts = mail_storm(tmp_path, 1, each=10)
    assert counts["arrived"] == counts["sent"] == 200
    assert counts["looks"] > 0


def test_killed_senders_and_readers_lose_and_repeat_nothing(tmp_path: Path) -> None:
    counts = mail_storm(tmp_path, 2, "kill", senders=8)
    assert counts["sender_kills"] > 0
    assert counts["owner_kills"] > 0
    assert counts["lost_with_sender"] <= counts["sender_kills"]


def test_sender_is_told_when_the_inbox_is_full(tmp_path: Path) -> None:
    """What was refused was not delivered: sent again when there is room, it arrives once."""
    counts = mail_storm(tmp_path, 3, limit=60_000, senders=6)
    assert counts["full"] > 0
    assert counts["arrived"] == counts["sent"] == 150
