from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from swarm.core.times import parse_time
from swarm.logs import ROOTS, PrivateFile, configure_logging

LOGGER = logging.getLogger("swarm.storage.test")


@pytest.fixture(autouse=True)
def untouched_logging() -> Iterator[None]:
    before = [(logging.getLogger(name), logging.getLogger(name).propagate) for name in ROOTS]
    yield
    configure_logging(None)
    for logger, propagate in before:
        logger.handlers.clear()
        logger.setLevel(logging.NOTSET)
        logger.propagate = propagate


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_record_is_one_line_with_its_facts(tmp_path: Path) -> None:
    path = tmp_path / "w1.log"
    configure_logging(str(path))
    LOGGER.info("task %s", "claimed", extra={"swarm_task": "7", "swarm_path": Path("x\ny"), "other": 1})

    (line,) = lines(path)
    assert abs(parse_time(line.pop("time")) - time.time()) < 60
    assert line == {
        "level": "info",
        "logger": "swarm.storage.test",
        "event": "task claimed",
        "swarm_task": "7",
        "swarm_path": "x\ny",
    }


def test_a_failure_is_logged_with_its_traceback(tmp_path: Path) -> None:
    path = tmp_path / "w1.log"
    configure_logging(str(path))
    try:
        raise RuntimeError("boom")
    except RuntimeError:
        logging.getLogger("worker.engine").exception("session ended")

    assert "RuntimeError: boom" in lines(path)[0]["exception"]


def test_the_level_holds_back_details(tmp_path: Path) -> None:
    path = tmp_path / "w1.log"
    configure_logging(str(path), level="WARNING")
    LOGGER.info("not this")
    LOGGER.warning("but this")

    assert [line["event"] for line in lines(path)] == ["but this"]


def test_only_the_owner_may_read_a_log_and_it_grows(tmp_path: Path) -> None:
    path = tmp_path / "w1.log"
    for exists in (False, True):
        configure_logging(str(path))
        assert path.exists() == exists, "made at the first record"
        LOGGER.warning("hello")

    assert path.stat().st_mode & 0o777 == 0o600
    assert len(lines(path)) == 2


def test_nothing_reaches_the_terminal(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    configure_logging(None)
    LOGGER.error("unseen")

    assert capfd.readouterr() == ("", "")


def test_a_log_without_room_disturbs_nobody(capfd: pytest.CaptureFixture[str]) -> None:
    """Neither while it is written nor when it is closed."""
    handler = PrivateFile("/dev/full")
    handler.emit(logging.makeLogRecord({"msg": "x"}))
    handler.close()

    assert capfd.readouterr().err == ""
