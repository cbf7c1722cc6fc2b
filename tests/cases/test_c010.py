"""A teammate's request to end was taken for one to the lead, which ended itself and everybody."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from swarm.core.identity import LEADER
from swarm.core.message import shutdown_request
from swarm.storage.processes import start_ticks
from tests.support.crew import BACKENDS, crew, long_task

pytestmark = pytest.mark.timeout(90)

QUIET_SECONDS = 3.0


@pytest.mark.parametrize("backend", BACKENDS)
def test_only_who_was_meant_ends(isolated_home: Path, backend: str) -> None:
    """A shutdown request to the leader is text; the one that a person gives is for the named one alone."""
    text = shutdown_request("w1", LEADER, "2026-11-30T12:00:00.000Z", "I am done")
    asks = f"{sys.executable} -m swarm send {LEADER} '{text}' && touch asked; sleep 300"
    tasks = [long_task("ask", asks, owner="w1"), long_task("work", "touch began; sleep 300", owner="w2")]
    with crew(backend, isolated_home, "w1", "w2", tasks=tasks, led=True) as team:
        team.bring_up()
        team.until_there("asked", "began")
        lead = team.record(LEADER)

        assert team.swarm("stop", "w1").out == "w1 has stopped\n"
        until = time.monotonic() + QUIET_SECONDS
        while time.monotonic() < until:
            assert team.states() == {"w1": "stopped", "w2": "working"}
            assert start_ticks(lead.pid or 0) == lead.start_ticks
        assert team.end_run()["outcome"] == "interrupted"
