"""Two commands read two stores, and said different things of one team."""

from __future__ import annotations

import json
import os
import random
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from swarm.storage.processes import start_ticks
from swarm.testing.wait import wait_until
from tests.support.live_team import LiveTeam
from tests.support.own_process import OwnProcess
from tests.support.verbs import verb

pytestmark = pytest.mark.timeout(90)

MOMENTS = 20
LIMIT_SECONDS = 5.0
NAMES = ("w1", "w2", "w3")
OVER = {"dead", "stopped", "unknown"}


class Crew:
    """Teammates that come, go, pause and die."""

    def __init__(self, team: LiveTeam) -> None:
        self.team = team
        self.root = Path(team.root)
        self.lives = dict.fromkeys(NAMES, 0)
        self.running: dict[str, OwnProcess] = {}
        self.paused: set[str] = set()
        self._started: list[OwnProcess] = []

    def change(self, chance: random.Random) -> None:
        name = chance.choice(NAMES)
        if name not in self.running:
            self.lives[name] += 1
            worker = self.running[name] = OwnProcess(self.team, name, self.lives[name])
            self._started.append(worker)
            worker.until_ready()
            return
        what = chance.choice(["kill", "stop", "pause", "continue"])
        if what == "kill":
            os.kill(self.running.pop(name).process.pid, signal.SIGKILL)
            self.paused.discard(name)
            return
        assert verb(self.root, what, name).code == 0
        if what == "stop":
            self.running.pop(name)
        (self.paused.add if what == "pause" else self.paused.discard)(name)

    def end(self) -> None:
        for worker in self._started:
            worker.process.kill()
            worker.process.wait()


@pytest.fixture
def crew(isolated_home: Path) -> Iterator[Crew]:
    quick = {"key": "a", "subject": "Quick", "script": [{"say": "Done."}]}
    made = Crew(LiveTeam(isolated_home, teammates=[{"name": name} for name in NAMES], tasks=[quick]))
    yield made
    made.end()


def shown(crew: Crew) -> list[dict[str, Any]]:
    agents: list[dict[str, Any]] = verb(crew.root, "status", "--json").json()["agents"]
    return agents


def all_say_the_same(crew: Crew) -> bool:
    """Compare what is shown with the roster, with the process table, and with what was done."""
    agents = shown(crew)
    roster = json.loads(Path(crew.team.team.layout.config).read_text())
    members = [member["name"] for member in roster["members"] if member["name"] != "team-lead"]
    listed = verb(crew.root, "team", "list", "--json").json()["teams"][0]
    one = verb(crew.root, "team", "show", "demo", "--json").json()
    same = [agent["name"] for agent in agents] == members and listed == one
    for agent in agents:
        pid = agent.get("pid")
        lives = agent["name"] in crew.running
        table = pid is not None and start_ticks(pid) is not None
        same = same and (agent["state"] not in OVER) == lives == table
        same = same and (agent["state"] == "paused") == (agent["name"] in crew.paused)
    return same


def test_every_view_is_made_from_the_same_files(crew: Crew) -> None:
    chance = random.Random(81)
    for _ in range(MOMENTS):
        crew.change(chance)
        wait_until(lambda: all_say_the_same(crew), timeout=LIMIT_SECONDS, what=str(shown(crew)))
    assert max(crew.lives.values()) > 1
