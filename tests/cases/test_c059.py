"""An end was approved and reported, yet the member counted as active and the team could not be removed."""

from __future__ import annotations

from pathlib import Path

import pytest

from swarm.core.message import parse_control
from swarm.settings import Settings
from swarm.storage.clock import SystemClock
from swarm.storage.layout import Layout
from swarm.storage.processes import start_ticks
from swarm.storage.team import Team
from tests.support.command import Shell
from tests.support.stores import reopened

NAMES = ("w1", "w2", "w3")
ROUNDS = 2
ROUNDS_LONG = 10


def controls(team: Team, sender: str) -> list[str]:
    inbox = team.inbox("team-lead")
    mail = [one for one in (*inbox.history(), *inbox.peek()) if one.sender == sender]
    return [control["type"] for one in mail if (control := parse_control(one.text))]


def go_round(shell: Shell, team: Team) -> None:
    assert shell.swarm("team", "create", "demo", "--workspace", str(shell.cwd)).code == 0
    for name in NAMES:
        spawned = shell.swarm("spawn", name, "--backend", "process", "--model", "scripted")
        assert spawned.code == 0, spawned.err
    pids = [record.pid for record in reopened(team).agents.list_agents()]
    assert shell.swarm("stop", "--all").out == "".join(f"{name} has stopped\n" for name in NAMES)

    assert len(pids) == len(NAMES)
    assert all(start_ticks(pid or 0) is None for pid in pids)
    for name in NAMES:
        assert controls(reopened(team), name)[-1] == "shutdown_approved"
    assert shell.swarm("team", "delete", "demo").code == 0


def run_rounds(home: Path, cwd: Path, rounds: int) -> None:
    shell = Shell(home, cwd)
    team = Team(Layout(root=str(shell.root)).team("demo"), Settings(), SystemClock())
    for _ in range(rounds):
        go_round(shell, team)


@pytest.mark.timeout(120)
def test_the_team_can_be_removed_when_all_have_said_goodbye(isolated_home: Path, tmp_path: Path) -> None:
    run_rounds(isolated_home, tmp_path, ROUNDS)


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_the_same_for_long(isolated_home: Path, tmp_path: Path) -> None:
    run_rounds(isolated_home, tmp_path, ROUNDS_LONG)
