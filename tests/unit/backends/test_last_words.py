"""Why a process ended, as a person reads it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from swarm.backends.last_words import how_it_ended, last_words


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (0, "it ended with exit code 0"),
        (3, "it ended with exit code 3"),
        (-9, "it was ended by SIGKILL"),
        (-42, "it was ended by signal 42"),
        (None, "its process is gone"),
    ],
)
def test_the_end_of_a_process_in_words(code, said):
    assert how_it_ended(code) == said


def record(level: str, event: str, **facts: str) -> str:
    return json.dumps({"time": "2026-11-30T12:00:00.000Z", "level": level, "event": event, **facts})


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([], ""),
        (["Traceback (most recent call last):", "MemoryError", ""], "MemoryError"),
        (["error: no such team", record("info", "task claimed")], "error: no such team"),
        ([record("error", "teammate failed", exception="Traceback:\n\nValueError: no")], "ValueError: no"),
        ([record("error", "teammate failed"), record("info", "task ended")], "teammate failed"),
        (["17"], "17"),
        (["x" * 1000], "x" * 300),
    ],
)
def test_the_last_that_says_what_went_wrong(tmp_path: Path, lines, said):
    """What our own log tells of ordinary days is not it."""
    log = tmp_path / "w1.log"
    log.write_text("\n".join(lines))

    assert last_words(str(log)) == said


def test_what_an_earlier_life_said_does_not_count(tmp_path: Path):
    log = tmp_path / "w1.log"
    log.write_text("error: old\n")

    assert last_words(str(log), log.stat().st_size) == ""
    assert last_words(str(tmp_path / "none.log")) == ""


def test_a_long_log_is_read_from_its_end(tmp_path: Path):
    log = tmp_path / "w1.log"
    log.write_text("error: early\n" + f"{record('info', 'x')}\n" * 5000)

    assert last_words(str(log)) == ""
