"""Killing an agent did not reach what its commands had started in groups of their own; it piled up."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from swarm.storage.processes import start_ticks
from swarm.testing.wait import wait_until
from tests.support.command import Shell
from tests.support.live_team import LiveTeam
from tests.support.own_process import OwnProcess

pytestmark = pytest.mark.timeout(60)

LIMIT_SECONDS = 10.0
SERVER = "python3 -m http.server 0 --bind 127.0.0.1"
COMMAND = (
    "setsid sleep 9999 & echo $! > one.new; mv one.new one; "
    f"(setsid {SERVER} >/dev/null 2>&1 & echo $! > two.new; mv two.new two); echo started"
)


@pytest.mark.parametrize("way", [(), ("--force",)], ids=["asked", "forced"])
@pytest.mark.parametrize("busy", [True, False], ids=["in a command", "idle"])
def test_what_an_agent_started_ends_with_it(isolated_home: Path, way: tuple[str, ...], busy: bool) -> None:
    command = COMMAND + ("; sleep 600" if busy else "")
    script = [{"calls": [{"Bash": {"command": command}}]}, {"say": "Done."}]
    team = LiveTeam(
        isolated_home,
        permissions={"mode": "bypassPermissions"},
        teammates=[{"name": "w1"}],
        tasks=[{"key": "a", "subject": "Serve", "script": script}],
    )
    shell = Shell(isolated_home, team.workspace)
    with OwnProcess(team, "w1") as w1:
        for name in ("one", "two"):
            wait_until((team.workspace / name).exists, timeout=15, what=name)
        if not busy:
            w1.until_idle()
        pids = [int((team.workspace / name).read_text()) for name in ("one", "two")]
        started = time.monotonic()
        assert shell.swarm("stop", "w1", *way).code == 0

        assert [start_ticks(pid) for pid in (*pids, w1.process.pid)] == [None] * 3
        assert time.monotonic() - started < LIMIT_SECONDS
