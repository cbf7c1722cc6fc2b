"""An agent in a long command never read the order to stop; the team stayed, and nothing forced it."""

from __future__ import annotations

import signal
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from swarm.storage.processes import start_ticks
from swarm.testing.wait import wait_until
from tests.support.command import Shell
from tests.support.live_team import LiveTeam
from tests.support.own_process import OwnProcess

pytestmark = pytest.mark.timeout(60)

NAMES = ("w1", "w2", "w3")
LIMIT_SECONDS = 15.0


def a_long_task(name: str, command: str) -> dict[str, object]:
    script = [{"calls": [{"Bash": {"command": command}}]}, {"say": "Done."}]
    return {"key": name, "subject": f"Task of {name}", "script": script, "owner": name}


def test_all_are_gone_in_time_with_what_they_run(isolated_home: Path) -> None:
    """One is in a long command, one in a command that hears no signal, one is stopped itself."""
    deaf = "trap '' TERM INT HUP; touch w2; while :; do sleep 600; done"
    team = LiveTeam(
        isolated_home,
        permissions={"mode": "bypassPermissions"},
        teammates=[{"name": name} for name in NAMES],
        tasks=[
            a_long_task("w1", "touch w1; sleep 600"),
            a_long_task("w2", deaf),
            a_long_task("w3", "touch w3; sleep 600"),
        ],
    )
    shell = Shell(isolated_home, team.workspace)
    with ExitStack() as stack:
        workers = {name: stack.enter_context(OwnProcess(team, name)) for name in NAMES}
        for name in NAMES:
            wait_until((team.workspace / name).exists, timeout=30, what=f"{name} works")
        records = [team.team.agents.load(name) for name in NAMES]
        commands = [tool.pgid for record in records if record for tool in record.tools]
        workers["w3"].process.send_signal(signal.SIGSTOP)
        refused = shell.swarm("team", "delete", "demo", "--force")
        assert refused.code == 4

        started = time.monotonic()
        ended = shell.swarm("stop", "--all", "--timeout", "5", "--json")
        assert time.monotonic() - started < LIMIT_SECONDS

        outcomes = {agent["name"]: agent["outcome"] for agent in ended.json()["agents"]}
        assert outcomes == {"w1": "stopped", "w2": "stopped", "w3": "killed"}
        assert all(worker.process.wait(1) is not None for worker in workers.values())
        assert len(commands) == 3
        assert all(start_ticks(pid or 0) is None for pid in commands)
        assert [task.status for task in team.tasks()] == ["pending"] * 3
        assert shell.swarm("team", "delete", "demo", "--force").code == 0
