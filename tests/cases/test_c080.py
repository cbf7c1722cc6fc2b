"""Notices of idleness came late, so that a busy agent was taken for a free one."""

from __future__ import annotations

from pathlib import Path

import pytest

from swarm.core.message import parse_control
from swarm.core.task import NewTask
from swarm.testing.wait import wait_until
from tests.support.command import Shell
from tests.support.live_team import LiveTeam
from tests.support.own_process import OwnProcess

pytestmark = pytest.mark.timeout(60)


def test_what_is_shown_is_what_is_and_a_late_notice_is_dated(isolated_home: Path) -> None:
    """Nothing is made from mail: who reads the notice late sees by its time that it is an old one."""
    waits = "touch began; while [ ! -e go ]; do sleep 0.05; done"
    script = [{"calls": [{"Bash": {"command": waits}}]}, {"say": "Done."}]
    team = LiveTeam(
        isolated_home,
        permissions={"mode": "bypassPermissions"},
        teammates=[{"name": "w1"}],
        tasks=[
            {"key": "first", "subject": "First", "script": [{"say": "Done."}]},
            {"key": "second", "subject": "Second", "script": script, "blocked_by": ["first"]},
        ],
    )
    store = team.team.tasks("user")
    store.cancel(team.ids["second"], "later")
    shell = Shell(isolated_home, team.workspace)
    with OwnProcess(team, "w1") as w1:
        wait_until(lambda: team.task("first").finished, timeout=15, what="it is done")
        w1.until_idle()
        wait_until(lambda: len(team.mail()) == 2, timeout=15, what="it has said so")
        store.create(NewTask(subject="Second", key="second"))
        wait_until((team.workspace / "began").exists, timeout=15, what="it works")

        (agent,) = shell.swarm("status", "--json").json()["agents"]
        notice = next(parse_control(mail.text) for mail in team.mail() if "idle_notification" in mail.text)
        (team.workspace / "go").touch()
        wait_until(lambda: len(team.mail()) > 2, timeout=15, what="it is done")

    assert agent["state"] == "working"
    assert notice is not None
    assert notice["timestamp"] < agent["since"]
