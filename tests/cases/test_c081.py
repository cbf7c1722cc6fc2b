"""Two commands read two stores, and said different things of one team."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from swarm.storage.processes import start_ticks
from swarm.testing.wait import wait_until
from tests.support.crew import BACKENDS, KEEPER, Crew, crew, quick_task

pytestmark = pytest.mark.timeout(120)

MOMENTS = 20
LIMIT_SECONDS = 5.0
NAMES = ("w1", "w2", "w3")
OVER = {"dead", "stopped", "unknown"}


class Changing:
    """Teammates that come, go, pause and die; in a run they are all there at first, and only pause and go."""

    def __init__(self, team: Crew) -> None:
        self.team = team
        self.lives = dict.fromkeys(NAMES, 0)
        self.running: set[str] = set()
        self.paused: set[str] = set()
        if team.led:
            team.bring_up()
            self.running = {*NAMES, KEEPER}

    def change(self, chance: random.Random) -> None:
        name = chance.choice(NAMES)
        if name in self.running:
            self._change(name, chance.choice(self._possible()))
        elif not self.team.led:
            self.lives[name] += 1
            self.team.bring_up(name)
            self.running.add(name)

    def _possible(self) -> list[str]:
        if not self.team.led:
            return ["kill", "stop", "pause", "continue"]
        return ["pause", "continue"] * 3 + ["stop"]

    def _change(self, name: str, what: str) -> None:
        if what == "kill":
            self.team.kill_now(name)
        else:
            ended = self.team.verb(what, name)
            assert ended.code == 0, ended.err
        if what in ("kill", "stop"):
            self.running.discard(name)
        (self.paused.add if what == "pause" else self.paused.discard)(name)

    def views_agree(self) -> bool:
        """Compare what is shown with the roster, with the process table, and with what was done."""
        agents = self.shown()
        roster = json.loads(Path(self.team.team.layout.config).read_text())
        members = [member["name"] for member in roster["members"] if member["name"] != "team-lead"]
        listed = self.team.verb("team", "list", "--json").json()["teams"][0]
        one = self.team.verb("team", "show", "demo", "--json").json()
        same = [agent["name"] for agent in agents] == members and listed == one
        return same and all(self._is_true_of(agent) for agent in agents)

    def _is_true_of(self, agent: dict[str, Any]) -> bool:
        pid, lives = agent.get("pid"), agent["name"] in self.running
        there = pid is not None and start_ticks(pid) is not None
        if self.team.leader is not None:
            assert pid == self.team.leader.pid
            there = lives
        return (agent["state"] not in OVER) == lives == there and (agent["state"] == "paused") == (
            agent["name"] in self.paused
        )

    def shown(self) -> list[dict[str, Any]]:
        agents: list[dict[str, Any]] = self.team.verb("status", "--json").json()["agents"]
        return agents


@pytest.fixture(params=BACKENDS)
def changing(isolated_home: Path, request: pytest.FixtureRequest) -> Iterator[Changing]:
    with crew(request.param, isolated_home, *NAMES, tasks=[quick_task("a")]) as team:
        yield Changing(team)


def test_every_view_is_made_from_the_same_files(changing: Changing) -> None:
    chance = random.Random(81)
    for _ in range(MOMENTS):
        changing.change(chance)
        wait_until(changing.views_agree, timeout=LIMIT_SECONDS, what=str(changing.shown()))
    assert changing.team.led or max(changing.lives.values()) > 1
    assert KEEPER in changing.running or not changing.team.led
