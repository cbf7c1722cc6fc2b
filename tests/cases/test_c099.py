"""Runs were hidden from the list of what can be resumed, since their lead carried a team name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from swarm.testing.wait import wait_until
from tests.e2e.steps import a_task, status_of, write_team
from tests.support.asked import led, until_asked
from tests.support.command import Shell

pytestmark = pytest.mark.timeout(90)

TEAMMATES = [{"name": "builder", "count": 2}, {"name": "checker"}]
ASKS = [{"calls": [{"Bash": {"command": "touch made"}}]}, {"say": "Done."}]
WHO = {
    "team-lead": "leader",
    "builder-1": "teammate",
    "builder-2": "teammate",
    "checker": "teammate",
}


@pytest.fixture
def shell(isolated_home: Path, tmp_path: Path) -> Shell:
    return Shell(isolated_home, tmp_path)


def listed(shell: Shell) -> dict[str, dict[str, Any]]:
    return {team["name"]: team for team in shell.swarm("team", "list", "--json").json()["teams"]}


def killed_run(shell: Shell) -> None:
    """Leave the run of t1 without its leader, in the midst of its work."""
    file = write_team(shell, [a_task("a", ASKS)], teammates=TEAMMATES, permissions={"mode": "default"})
    process, _ = led(shell, "run", file)
    until_asked(shell)
    assert not listed(shell)["t1"]["resumable"]
    process.kill()
    process.communicate()


def finished_run(shell: Shell) -> None:
    ended = shell.swarm("run", write_team(shell, [a_task("a")], name="whole"))
    assert ended.code == 0, ended.err


def failed_run(shell: Shell) -> None:
    """Leave a run that has ended with a task undone."""
    fails = [{"calls": [{"Bash": {"command": "false"}}]}]
    tasks = [a_task("a", fails), a_task("b", blocked_by=["a"])]
    ended = shell.swarm("run", write_team(shell, tasks, name="half"), "--headless")
    assert ended.code != 0


def test_after_a_run_its_lead_is_listed_and_its_workers_are_marked(shell: Shell) -> None:
    killed_run(shell)
    team = listed(shell)["t1"]

    assert (team["leader"], team["resumable"]) == ("gone", True)
    assert {one["name"]: one["kind"] for one in team["members"]} == WHO
    assert shell.swarm("team", "show", "t1", "--json").json() == team
    (row,) = shell.swarm("team", "list").out.splitlines()
    assert "leader gone, can be resumed" in row
    page = shell.swarm("team", "show", "t1").out
    assert "swarm resume t1" in page
    rows = [line.split()[:2] for line in page.splitlines() if line.strip().startswith(tuple(WHO))]
    assert dict(rows) == WHO

    going, _ = led(shell, "resume")
    wait_until(lambda: until_asked(shell)[-1].number == 2, timeout=30, what="the next life asks anew")
    assert not listed(shell)["t1"]["resumable"]
    assert shell.swarm("approve", "2").code == 0
    going.communicate(timeout=60)
    assert status_of(shell, "1")["status"] == "completed"
    assert not listed(shell)["t1"]["resumable"]


def test_of_several_teams_those_that_can_be_resumed_are_named(shell: Shell) -> None:
    killed_run(shell)
    finished_run(shell)
    failed_run(shell)
    assert shell.swarm("team", "create", "by-hand").code == 0

    can = {name: team["resumable"] for name, team in listed(shell).items()}
    assert can == {"t1": True, "half": True, "whole": False, "by-hand": False}
    refused = shell.swarm("resume")
    assert refused.code == 2
    assert "which run? swarm resume NAME; half, t1 can be taken up" in refused.err
    assert shell.swarm("resume", "--json").code == 2
    notes = shell.swarm("team", "list").err
    assert "swarm resume half" in notes


def test_where_no_run_can_be_taken_up_it_is_said(shell: Shell) -> None:
    finished_run(shell)
    assert shell.swarm("team", "create", "by-hand").code == 0
    refused = shell.swarm("resume")
    assert refused.code == 2
    assert "no run of these teams can be taken up" in refused.err
