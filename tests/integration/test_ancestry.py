"""A command of a teammate is known by the shell that runs it, also when it hides who it is."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from swarm.storage.team import Team
from tests.support.command import REPOSITORY
from tests.support.questions import ask
from tests.support.stores import make_team

pytestmark = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")

CLEARED = (
    'env -i HOME="$HOME" PATH="$PATH" CLAUDE_CONFIG_DIR="$CLAUDE_CONFIG_DIR" PYTHONPATH="$PYTHONPATH" "$@"'
)


@pytest.fixture
def team(tmp_path: Path) -> Team:
    return make_team(tmp_path / "root")


SPAWN = ("spawn", "w9", "--permission-mode", "odd")
"""Its mode is refused later on."""


def below(
    team: Team, script: str, words: Sequence[str] = SPAWN, environ: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Give a verb to a shell script that runs below a teammate."""
    command = [sys.executable, "-m", "swarm", "-t", team.name, *words]
    own = {"HOME": team.root, "PATH": os.environ["PATH"], "PYTHONPATH": str(REPOSITORY)}
    marks = {"CLAUDE_CONFIG_DIR": team.root, "SWARM_TEAM": team.name, "SWARM_AGENT": "w1"}
    return subprocess.run(
        ["bash", "-c", script, "bash", *command],
        cwd=team.root,
        env=own | marks | dict(environ or {}),
        capture_output=True,
        text=True,
        check=False,
    )


SCRIPTS = [
    '"$@"; exit $?',
    'env -u SWARM_AGENT "$@"; exit $?',
    f"{CLEARED}; exit $?",
    f"({CLEARED}; exit $?); exit $?",
    f'set -- bash -c \'"$@"; exit $?\' bash "$@"; {CLEARED}; exit $?',
]


@pytest.mark.parametrize("script", SCRIPTS)
@pytest.mark.parametrize("verb", ["approve", "deny"])
def test_it_answers_no_question(team: Team, script: str, verb: str) -> None:
    asked = ask(team)

    done = below(team, script, ("-q", verb, "1"))

    assert (done.returncode, "w1 is an agent; only a person may" in done.stderr) == (5, True), done.stderr
    assert team.permissions.resolution(asked.id) is None


@pytest.mark.parametrize("script", SCRIPTS)
def test_it_is_not_taken_for_a_persons(team: Team, script: str) -> None:
    done = below(team, script)

    assert (done.returncode, "w1 is an agent; only a person may" in done.stderr) == (5, True), done.stderr


def test_a_command_below_an_agent_of_another_team_is(team: Team, tmp_path: Path) -> None:
    """Such as the tests of this very program, run by a teammate."""
    for other in ({"SWARM_TEAM": "other"}, {"SWARM_AGENT": ""}):
        done = below(team, f"{CLEARED}; exit $?", environ=other)
        assert (done.returncode, "no permission mode" in done.stderr) == (2, True), done.stderr
