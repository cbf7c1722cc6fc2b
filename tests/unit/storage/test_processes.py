from __future__ import annotations

import os
import re
from typing import Any

import pytest

from swarm.core.agent import AgentRecord
from swarm.storage import processes


def a_record(**changes: Any) -> AgentRecord:
    """The record of this very process."""
    fields: dict[str, Any] = {
        "name": "w1",
        "run_id": "k3v9qd7m.w1.1",
        "backend": "process",
        "state": "working",
        "since": "2026-11-30T12:31:02.410Z",
        "host": processes.host(),
        "boot_id": processes.boot_id(),
        "pid_ns": processes.pid_ns(),
        "pid": os.getpid(),
        "start_ticks": processes.start_ticks(os.getpid()),
    }
    return AgentRecord(**(fields | changes))


def test_process_with_the_recorded_identity_is_alive() -> None:
    assert processes.liveness(a_record()) == "alive"


def test_pid_used_again_by_another_process_is_dead() -> None:
    assert processes.liveness(a_record(start_ticks=1)) == "dead"


def test_process_that_is_gone_is_dead() -> None:
    assert processes.liveness(a_record(pid=2**22 + 1)) == "dead"


def test_process_of_an_earlier_boot_is_dead() -> None:
    assert processes.liveness(a_record(boot_id="another")) == "dead"


@pytest.mark.parametrize("change", [{"host": "elsewhere"}, {"pid_ns": 1}, {"pid": None}])
def test_nothing_is_said_about_what_cannot_be_seen(change: dict[str, Any]) -> None:
    """Another host or namespace has pids of its own; an agent that is starting has none yet."""
    assert processes.liveness(a_record(boot_id="another", **change)) == "unknown"


def test_start_time_elsewhere_comes_from_psutil() -> None:
    pid = os.getpid()
    ours = processes._start_elsewhere(pid)
    assert ours is not None
    assert ours == processes._start_elsewhere(pid)
    assert processes._start_elsewhere(2**22 + 1) is None


def test_new_ids_have_their_forms_and_differ() -> None:
    assert re.fullmatch(r"[0-9a-z]{8}", processes.new_run())
    assert re.fullmatch(r"[0-9a-z]{8}", processes.new_short_id())
    uuid4 = r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
    ids = {processes.new_msg_id() for _ in range(50)}
    assert len(ids) == 50
    assert all(re.fullmatch(uuid4, one) for one in ids)
