"""Notices of idleness came late, so that a busy agent was taken for a free one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from swarm.core.message import Message, parse_control
from swarm.core.task import NewTask
from swarm.testing.wait import wait_until
from tests.support.crew import BACKENDS, Crew, crew, long_task, quick_task

pytestmark = pytest.mark.timeout(90)

WAITS = "touch began; while [ ! -e go ]; do sleep 0.05; done"


def mail_of_w1(team: Crew) -> Sequence[Message]:
    return [mail for mail in team.mail() if mail.sender == "w1"]


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_is_shown_is_what_is_and_a_late_notice_is_dated(isolated_home: Path, backend: str) -> None:
    """Nothing is made from mail: who reads the notice late sees by its time that it is an old one."""
    tasks = [quick_task("first", owner="w1"), long_task("second", WAITS, blocked_by=["first"])]
    with crew(backend, isolated_home, "w1", tasks=tasks) as team:
        store = team.team.tasks("user")
        store.cancel(team.ids["second"], "later")
        team.bring_up()
        team.until_task("first")
        wait_until(lambda: len(mail_of_w1(team)) == 2, timeout=15, what="it has said so")
        team.until_state("idle")
        store.create(NewTask(subject="Second", key="second"))
        team.until_there("began")

        shown = team.agents()["w1"]
        notice = next(
            parse_control(mail.text) for mail in mail_of_w1(team) if "idle_notification" in mail.text
        )
        (team.workspace / "go").touch()
        wait_until(lambda: len(mail_of_w1(team)) > 2, timeout=15, what="it is done")

        assert shown["state"] == "working"
        assert notice is not None
        assert notice["timestamp"] < shown["since"]
