"""Work that was finished was shown as failed because of how the process ended afterwards."""

from __future__ import annotations

from pathlib import Path

import pytest

from swarm.testing.wait import wait_until
from tests.support.command import Shell
from tests.support.live_team import LiveTeam
from tests.support.own_process import OwnProcess

pytestmark = pytest.mark.timeout(60)


@pytest.mark.parametrize("command", ["true", "exit 1"], ids=["shell returns 0", "shell returns 1"])
def test_a_task_stays_completed_when_its_worker_is_killed_afterwards(
    isolated_home: Path, command: str
) -> None:
    """The journal says what became of the task; an exit code says nothing about it."""
    expected = {"expect": "error"} if command != "true" else {}
    script = [{"calls": [{"Bash": {"command": command}}], **expected}, {"say": "Done."}]
    team = LiveTeam(
        isolated_home,
        permissions={"mode": "bypassPermissions"},
        teammates=[{"name": "w1"}, {"name": "w2"}],
        tasks=[
            {"key": "a", "subject": "Do it", "script": script, "owner": "w1"},
            {"key": "b", "subject": "Go on", "script": [{"say": "On."}], "owner": "w2", "blocked_by": ["a"]},
        ],
    )
    with OwnProcess(team, "w1") as w1:
        wait_until(lambda: team.task("a").finished, timeout=15, what="it is finished")
        before = team.task("a")
        w1.kill()
        with OwnProcess(team, "w2"):
            wait_until(lambda: team.task("b").finished, timeout=15, what="w2 has looked and worked")

    assert before.status == "completed"
    assert team.task("a") == before
    assert team.events("task_failed", "task_released") == []
    shown = Shell(isolated_home, team.workspace).swarm("status", "--json").json()
    assert shown["tasks"]["completed"] == 2
    assert {agent["name"]: agent["state"] for agent in shown["agents"]}["w1"] == "dead"
