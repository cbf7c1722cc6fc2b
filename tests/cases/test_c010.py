"""A teammate's request to end was taken for one to the lead, which ended itself and everybody."""

from __future__ import annotations

import json
import signal
import sys
import time
from pathlib import Path

import pytest

from swarm.core.message import shutdown_request
from swarm.storage.processes import start_ticks
from swarm.testing.wait import wait_until
from tests.e2e.steps import a_task, write_team
from tests.support.command import Shell

pytestmark = pytest.mark.timeout(60)

QUIET_SECONDS = 3.0


def states(shell: Shell) -> dict[str, str]:
    agents = shell.swarm("status", "--json").json()["agents"]
    return {agent["name"]: agent["state"] for agent in agents}


def test_only_who_was_meant_ends(isolated_home: Path, tmp_path: Path) -> None:
    """A shutdown request to the leader is text; the one that a person gives is for the named one alone."""
    text = shutdown_request("w1", "team-lead", "2026-11-30T12:00:00.000Z", "I am done")
    asks = f"{sys.executable} -m swarm send team-lead '{text}' && touch asked; sleep 300"
    tasks = [
        a_task("ask", [{"calls": [{"Bash": {"command": asks}}]}], owner="w1"),
        a_task("work", [{"calls": [{"Bash": {"command": "touch began; sleep 300"}}]}], owner="w2"),
    ]
    shell = Shell(isolated_home, tmp_path)
    mode = {"mode": "bypassPermissions"}
    file = write_team(shell, tasks, teammates=[{"name": "w1"}, {"name": "w2"}], permissions=mode)
    run = shell.start("run", file, "--backend", "in-process", "--json")
    try:
        for name in ("asked", "began"):
            wait_until((tmp_path / "ws" / name).exists, timeout=30, what=name)
        lead = json.loads((shell.root / "teams/t1/agents/team-lead.json").read_text())

        assert shell.swarm("stop", "w1").out == "w1 has stopped\n"
        until = time.monotonic() + QUIET_SECONDS
        while time.monotonic() < until:
            assert states(shell) == {"w1": "stopped", "w2": "working"}
            assert start_ticks(lead["pid"]) == lead["start_ticks"]
        assert run.poll() is None
        run.send_signal(signal.SIGINT)
        out, _ = run.communicate(timeout=30)
        assert json.loads(out)["outcome"] == "interrupted"
    finally:
        run.kill()
