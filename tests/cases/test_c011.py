"""A spawned agent's inherited mode fell back to the default, which was looser than its leader's plan mode."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from swarm.permissions.modes import is_looser
from tests.support.command import Ended, Shell
from tests.support.live_runs import access, told, write_live_team
from tests.support.messages_api import Exchange, MessagesApi, Reply, call, reply

pytestmark = pytest.mark.timeout(120)

TRIES = (
    call("Write", {"file_path": "written.txt", "content": "x"}),
    call("Bash", {"command": "touch touched.txt"}),
)
TASK = {"key": "a", "subject": "Do it", "script": [{"say": "x"}]}
LOOSE = {"allow": ["Write", "Bash(touch:*)"], "defaultMode": "bypassPermissions"}
BY_HAND = ("--backend", "process")


def turn(exchange: Exchange) -> Reply:
    return reply("Then not.") if exchange.turns else reply(*TRIES)


class Bed:
    """A person whose settings allow all, and a run in mode plan."""

    def __init__(self, home: Path, folder: Path, api: MessagesApi, backend: dict[str, Any]) -> None:
        self.shell = Shell(home, folder)
        self.api = api
        self.environ = {**backend, **access(api), "SWARM_TEAM": "t1"}
        (home / ".claude").mkdir(exist_ok=True)
        (home / ".claude/settings.json").write_text(json.dumps({"permissions": LOOSE}))
        self.file = write_live_team(self.shell, [TASK], permissions={})

    def swarm(self, *words: str) -> Ended:
        ended = self.shell.swarm(*words, **self.environ)
        assert ended.code == 0, (words, ended)
        return ended

    def check(self, tries: int, *names: str) -> None:
        """Hold each try to have been refused, and these to have no looser mode than their leader."""
        asked = [one for one in self.api.exchanges if one.turns]
        assert len(asked) == tries
        for exchange in asked:
            assert told(exchange.body).count("mode plan") >= len(TRIES), told(exchange.body)
        left = sorted(path.name for path in (self.shell.cwd / "ws").iterdir())
        assert left == []
        roster = json.loads((self.shell.root / "teams/t1/config.json").read_text())
        modes = {one["name"]: one["swarm"]["permission_mode"] for one in roster["members"]}
        assert set(modes) == {"team-lead", *names}
        assert modes["team-lead"] == "plan"
        assert not any(is_looser(mode, "plan") for mode in modes.values())

    def give_another(self) -> None:
        """Let whoever is there try it in one more task, and end."""
        self.swarm("task", "add", "Do it again")

    def until_done_by_hand(self, task: str) -> None:
        self.swarm("task", "wait", task, "--timeout", "60")
        self.swarm("stop", "--all")


def test_nobody_becomes_looser_than_the_leader(
    isolated_home: Path, tmp_path: Path, backend: dict[str, Any]
) -> None:
    """Not in the run, not when spawned or restarted by hand, and not when the run is resumed."""
    with MessagesApi(turn) as api:
        bed = Bed(isolated_home, tmp_path, api, backend)
        bed.swarm("run", bed.file, "--permission-mode", "plan", "--headless")
        bed.check(1, "w1")

        bed.give_another()
        bed.swarm("restart", "w1", *BY_HAND)
        bed.until_done_by_hand("2")
        bed.check(2, "w1")

        bed.give_another()
        noted = bed.swarm("spawn", "w2", *BY_HAND, "--permission-mode", "bypassPermissions")
        assert "Note: w2 gets mode plan, not bypassPermissions" in noted.err
        bed.until_done_by_hand("3")
        bed.check(3, "w1", "w2")

        bed.give_another()
        bed.swarm("resume", "--headless")
        bed.check(4, "w1", "w2")
    assert api.refused == []


def test_one_that_is_spawned_without_a_mode_gets_its_leaders(isolated_home: Path, tmp_path: Path) -> None:
    """And not the default of the person's settings, in which nothing is asked."""
    with MessagesApi(turn) as api:
        bed = Bed(isolated_home, tmp_path, api, {})
        bed.swarm("run", bed.file, "--permission-mode", "plan", "--headless")
        bed.give_another()
        spawned = bed.swarm("spawn", "w2", *BY_HAND)
        bed.until_done_by_hand("2")
        bed.check(2, "w1", "w2")
    assert "Note: w2" not in spawned.err
