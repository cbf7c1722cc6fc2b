"""The races and storms of the integration tests, at full length."""

from __future__ import annotations

import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.support.kill_pairs import MAILS
from tests.support.races import kill_reader_twice, mail_storm, task_race

pytestmark = pytest.mark.soak

ROUNDS = 20


@pytest.mark.parametrize("troubles", [(), ("kill",), ("stop",), ("kill", "kill", "stop")])
def test_twenty_races_of_eight_for_five_hundred_tasks(tmp_path: Path, troubles: tuple[str, ...]) -> None:
    total: Counter[str] = Counter()
    for seed in range(ROUNDS):
        total += task_race(tmp_path / str(seed), 100 + seed, *troubles, tasks=500)
    assert total["completed"] >= ROUNDS * 500 - total["kills"]
    say(troubles, total)


@pytest.mark.parametrize("troubles", [(), ("kill",)])
def test_ten_storms_with_many_large_messages(tmp_path: Path, troubles: tuple[str, ...]) -> None:
    total: Counter[str] = Counter()
    for seed in range(10):
        total += mail_storm(tmp_path / str(seed), 100 + seed, *troubles, sizes="even")
    assert total["arrived"] >= 5000 - total["sender_kills"]
    say(troubles, total)


def test_three_seconds_of_storm_show_no_reader_half_a_file(tmp_path: Path) -> None:
    total: Counter[str] = Counter()
    started, seed = time.monotonic(), 0
    while time.monotonic() - started < 3.0:
        seed += 1
        total += mail_storm(tmp_path / str(seed), 200 + seed, "kill", sizes="even")
    assert total["looks"] > 100
    say((), total)


@pytest.mark.parametrize("mail", MAILS)
def test_reader_killed_at_every_pair_of_places_shows_each_message_once(tmp_path: Path, mail: str) -> None:
    assert kill_reader_twice(tmp_path, mail, step=1) > 700


def say(troubles: tuple[str, ...], counts: Counter[str]) -> None:
    sys.stdout.write(f"{troubles}: {dict(counts)}\n")
