"""An end was approved and reported, yet the member counted as active and the team could not be removed."""

from __future__ import annotations

from pathlib import Path

import pytest

from swarm.core.message import parse_control
from swarm.storage.processes import start_ticks
from tests.support.crew import BACKENDS, IN_PROCESS, Crew, crew, quick_task

NAMES = ("w1", "w2", "w3")
ROUNDS = 2
ROUNDS_LONG = 10


def controls(team: Crew, sender: str) -> list[str]:
    sent = [parse_control(mail.text) for mail in team.mail() if mail.sender == sender]
    return [control["type"] for control in sent if control is not None]


def go_round(backend: str, home: Path) -> None:
    """A team of the same name each time; it can be removed at once, without force."""
    led = backend == IN_PROCESS
    with crew(backend, home, *NAMES, tasks=() if led else [quick_task("a")]) as team:
        if not led:
            team.team.tasks("user").delete(team.ids["a"])  # a result would be lost with the team
        team.bring_up()
        team.until_state("idle")
        pids = {team.pid(name) for name in NAMES}
        assert team.swarm("stop", *NAMES).out == "".join(f"{name} has stopped\n" for name in NAMES)

        assert team.states() == dict.fromkeys(NAMES, "stopped")
        for name in NAMES:
            assert controls(team, name)[-1] == "shutdown_approved"
        if led:
            team.end_run()
        assert not any(map(start_ticks, pids))
        assert team.swarm("team", "delete", "demo").code == 0


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.timeout(120)
def test_the_team_can_be_removed_when_all_have_said_goodbye(isolated_home: Path, backend: str) -> None:
    for _ in range(ROUNDS):
        go_round(backend, isolated_home)


@pytest.mark.soak
@pytest.mark.timeout(600)
@pytest.mark.parametrize("backend", BACKENDS)
def test_the_same_for_long(isolated_home: Path, backend: str) -> None:
    for _ in range(ROUNDS_LONG):
        go_round(backend, isolated_home)
