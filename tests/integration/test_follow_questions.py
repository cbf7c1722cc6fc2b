"""`swarm permissions --follow` tells of each question as it comes and of its answer, with `--all` of all."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from swarm.leader.questions import answer
from swarm.storage.clock import SystemClock
from swarm.storage.team import Team, create_team
from swarm.testing.wait import wait_until
from tests.support.command import Shell
from tests.support.questions import ask
from tests.support.stores import SETTINGS

pytestmark = pytest.mark.timeout(60)


@pytest.fixture
def shell(isolated_home: Path, tmp_path: Path) -> Iterator[Shell]:
    made = Shell(isolated_home, tmp_path)
    yield made
    for process in made.started:
        process.kill()
        process.communicate()


@pytest.fixture
def team(shell: Shell) -> Team:
    return create_team(str(shell.root), "demo", workspace="/", settings=SETTINGS, clock=SystemClock())


def test_questions_and_answers_come_as_they_happen(shell: Shell, team: Team) -> None:
    ask(team, "first")
    follower = shell.start("permissions", "--follow", "--all", "--json")
    assert follower.stdout is not None

    def told() -> tuple[object, object, object]:
        assert follower.stdout is not None
        one = json.loads(follower.stdout.readline())
        return one["number"], one.get("asker"), one.get("outcome")

    assert told() == (1, "alive", None)
    ask(team, "second", agent="w2")
    assert told() == (2, "alive", None)
    answer(team, "1", "deny")
    assert told() == (1, None, "deny")
    follower.send_signal(signal.SIGINT)
    assert follower.communicate(timeout=30) == ("", "")
    assert follower.returncode == 130


def test_a_person_sees_each_in_full_and_is_called(shell: Shell, team: Team, tmp_path: Path) -> None:
    called = tmp_path / "called"
    follower = shell.start("permissions", "-f", SWARM_NOTIFY=f"mkdir -p '{called}'")
    assert follower.stdout is not None
    ask(team, "make\nmake install")
    lines = [follower.stdout.readline() for _ in range(6)]
    assert lines[0].startswith("#1 w1 (task 7) wants Bash in ")
    assert lines[1:3] == ["  │ $ make\n", "  │ > make install\n"]
    assert lines[5] == "\n"
    wait_until(called.exists, 20.0, what="the command was run")
    answer(team, "1", "deny", note="not today")
    assert follower.stdout.readline().startswith("#1 w1 (task 7) wants Bash: make")
    follower.send_signal(signal.SIGINT)
    _, err = follower.communicate(timeout=30)
    assert "yes: swarm approve 1, or with --always\nno: swarm deny 1 --note WHY\n" in err
    assert "SWARM_NOTIFY" not in err
