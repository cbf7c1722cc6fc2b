"""`swarm permissions --follow` tells of each question as it comes and of its answer, with `--all` of all."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from swarm.core.identity import LEADER
from swarm.leader.questions import answer
from swarm.storage.clock import SystemClock
from swarm.storage.team import Team, create_team
from swarm.testing.wait import wait_until
from tests.support.command import Shell
from tests.support.questions import ask
from tests.support.stores import SETTINGS
from tests.unit.cli.steps import a_record

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


def test_of_each_that_was_shown_it_is_told_who_answered_and_the_end_of_the_run_ends_it(
    shell: Shell, team: Team
) -> None:
    team.agents.save(a_record(LEADER))
    ask(team, "before")
    answer(team, "1", "allow")
    follower = shell.start("permissions", "-f")
    assert follower.stdout is not None
    ask(team, "make")
    question = [follower.stdout.readline() for _ in range(5)]
    assert question[0].startswith("#2 w1 (task 7) wants Bash in ")
    answer(team, "2", "deny", note="not now")
    told = follower.stdout.readline()
    assert told.startswith("#2 w1 (task 7) wants Bash: make; denied by user ")
    assert told.endswith(": not now\n")
    ask(team, "still here")
    assert follower.stdout.readline().startswith("#3 ")
    team.agents.update(LEADER, state="stopped")
    answer(team, "3", "allow")

    out, err = follower.communicate(timeout=30)
    assert "#3 w1 (task 7) wants Bash: still here; allowed by user " in out
    assert err.endswith("the run of demo has ended\n")
    assert follower.returncode == 0
