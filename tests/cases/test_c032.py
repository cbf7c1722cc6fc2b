"""A resumed lead had another identity: what its workers sent was taken from the mailbox and never shown."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from swarm.testing.wait import wait_until
from tests.e2e.steps import a_task, status_of, write_team
from tests.support.asked import answering, heard, led, team_of, until_asked
from tests.support.command import Shell
from tests.support.live_runs import BY_HAND, placed

pytestmark = pytest.mark.timeout(150)

WAIT = "while [ ! -e $1 ]; do sleep 0.05; done\n"


def word(number: int) -> list[dict[str, Any]]:
    """A command that waits for the test, then mail to the leader."""
    mail = {"to": "team-lead", "message": f"word {number}", "summary": "a word"}
    return [{"calls": [{"Bash": {"command": f"sh wait.sh go{number}"}}]}, {"calls": [{"SendMessage": mail}]}]


@pytest.fixture(params=BY_HAND)
def backend(request: pytest.FixtureRequest) -> Iterator[dict[str, Any]]:
    with placed(str(request.param)) as place:
        yield place


def test_what_a_worker_sends_reaches_each_life_of_its_lead(
    isolated_home: Path, tmp_path: Path, backend: dict[str, Any]
) -> None:
    """Mail and questions, after one resume and after the next; the worker lives on all the time."""
    shell = Shell(isolated_home, tmp_path)
    script = [*word(1), *word(2), {"calls": [{"Bash": {"command": "touch made"}}]}, {"say": "Done."}]
    file = write_team(
        shell,
        [a_task("a", script, owner="w1")],
        teammates=[{"name": "w1"}, {"name": "w2"}],
        permissions={"mode": "default", "allow": ["Bash(sh wait.sh:*)"]},
    )
    (shell.cwd / "ws/wait.sh").write_text(WAIT)
    lead, _ = led(shell, "run", file, **backend)
    wait_until(lambda: is_working(shell), timeout=60, what="w1 works")
    life = life_of(shell, "w1")

    for number in (1, 2):
        lead = resumed(shell, lead, backend)
        (shell.cwd / f"ws/go{number}").touch()
        wait_until(partial(is_read, shell, f"word {number}"), timeout=60, what="the lead has read it")
        assert members(shell) == ["w1", "w2"]

    (asked,) = until_asked(shell)
    lead = resumed(shell, lead, backend)
    assert until_asked(shell) == [asked]
    assert life_of(shell, "w1") == life
    assert heard(answering(shell, "1", "allow")) == {"outcome": "allow"}
    lead.communicate(timeout=60)

    assert lead.returncode == 0
    assert status_of(shell, "1")["status"] == "completed"
    assert (shell.cwd / "ws/made").exists()
    assert members(shell) == ["w1", "w2"]


def resumed(shell: Shell, lead: subprocess.Popen[str], backend: dict[str, Any]) -> subprocess.Popen[str]:
    """Kill who leads, and nobody else; return the next one once it leads."""
    before = life_of(shell, "team-lead")
    lead.kill()
    lead.communicate(timeout=60)
    following, _ = led(shell, "resume", "t1", **backend)
    wait_until(lambda: life_of(shell, "team-lead") != before, timeout=60, what="another leads")
    wait_until(lambda: leads(shell), timeout=60, what="it leads")
    return following


def is_working(shell: Shell) -> bool:
    path = shell.root / "teams/t1/agents/w1.json"
    return path.exists() and json.loads(path.read_text())["state"] == "working"


def life_of(shell: Shell, name: str) -> tuple[str, int | None]:
    record = team_of(shell).agents.load(name)
    assert record is not None
    return record.run_id, record.pid


def leads(shell: Shell) -> bool:
    record = team_of(shell).agents.load("team-lead")
    return record is not None and record.state == "working"


def is_read(shell: Shell, said: str) -> bool:
    """Whether the lead has taken this mail out of its mailbox and into what it has read."""
    inbox = team_of(shell).inbox("team-lead")
    waits = any(said in one.text for one in inbox.peek())
    return not waits and any(said in one.text for one in inbox.history())


def members(shell: Shell) -> list[str]:
    agents = json.loads(shell.swarm("status", "--json").out)["agents"]
    return [agent["name"] for agent in agents if agent["name"] != "team-lead"]
