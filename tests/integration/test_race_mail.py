"""A storm of mail at one agent that reads and acknowledges, with kills among all of them."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.support.mail_storm import open_storm
from tests.support.oracle import check_mail
from tests.support.racers import REPOSITORY
from tests.support.stores import make_team


def storm(
    root: Path, seed: int, *troubles: str, sizes: str = "mostly_small", limit: int = 0, senders: int = 20
) -> Counter[str]:
    """Play one storm, check what it left and what was seen meanwhile, and return counts of both."""
    make_team(root)
    command = [sys.executable, "-m", "tests.support.mail_storm", str(root), str(senders), str(seed), sizes]
    ended = subprocess.run(
        [*command, str(limit), *troubles], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    seen = json.loads((root / "seen").read_text())
    assert seen["bad"] == []
    told = {path.name: path.read_text().splitlines() for path in (root / "answers").iterdir()}
    assert len(told) == senders
    became = check_mail(open_storm(str(root)), "w1", told, sizes)
    return became + Counter(looks=seen["looks"]) + Counter(json.loads(ended.stdout))


def test_every_message_of_twenty_senders_reaches_the_model_once(tmp_path: Path) -> None:
    """In order for each sender, while others look at the files without a lock and never see half of one."""
    counts = storm(tmp_path, 1)
    assert counts["arrived"] == counts["sent"] == 500
    assert counts["looks"] > 10


def test_killed_senders_and_readers_lose_and_repeat_nothing(tmp_path: Path) -> None:
    counts = storm(tmp_path, 2, "kill")
    assert counts["sender_kills"] > 5
    assert counts["owner_kills"] > 3
    assert counts["lost_with_sender"] <= counts["sender_kills"]


def test_sender_is_told_when_the_inbox_is_full(tmp_path: Path) -> None:
    """What was refused was not delivered: sent again when there is room, it arrives once."""
    counts = storm(tmp_path, 3, limit=60_000, senders=6)
    assert counts["full"] > 0
    assert counts["arrived"] == counts["sent"] == 150


@pytest.mark.soak
@pytest.mark.parametrize("troubles", [(), ("kill",)])
def test_long_storm_with_many_large_messages(tmp_path: Path, troubles: tuple[str, ...]) -> None:
    total: Counter[str] = Counter()
    for seed in range(10):
        total += storm(tmp_path / str(seed), 100 + seed, *troubles, sizes="even")
    assert total["sent"] >= 4500
    sys.stdout.write(f"{troubles}: {dict(total)}\n")


@pytest.mark.soak
def test_reader_without_a_lock_sees_whole_files_in_seconds_of_storm(tmp_path: Path) -> None:
    total: Counter[str] = Counter()
    started, seed = time.monotonic(), 0
    while time.monotonic() - started < 3.0:
        seed += 1
        total += storm(tmp_path / str(seed), 200 + seed, "kill", sizes="even")
    assert total["looks"] > 100
    sys.stdout.write(f"{dict(total)}\n")
