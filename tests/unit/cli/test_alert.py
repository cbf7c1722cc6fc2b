"""A person who looks elsewhere is called once per question, and nothing waits for the call."""

from __future__ import annotations

import io
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from swarm.cli.alert import Alert
from swarm.storage.team import Team
from swarm.testing.wait import wait_until
from tests.support.questions import ask
from tests.support.stores import make_team


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def team(tmp_path: Path) -> Team:
    return make_team(tmp_path / "root")


@pytest.fixture
def notes() -> list[str]:
    return []


def look_until(alert: Alert, condition: Callable[[], object]) -> None:
    def looked() -> object:
        alert.look("demo", [])
        return condition()

    wait_until(looked, 20.0)


def test_the_bell_rings_once_per_new_question(team: Team) -> None:
    screen = Screen()
    first = ask(team)
    with Alert(screen, {}, print) as alert:
        alert.look("demo", [])
        assert screen.getvalue() == ""
        alert.look("demo", [first])
        alert.look("demo", [first])
        assert screen.getvalue() == "\a"
        alert.look("demo", [first, ask(team), ask(team)])  # those that come together are one call
        alert.look("demo", [])
        assert screen.getvalue() == "\a\a"


def test_no_bell_goes_into_a_file(team: Team) -> None:
    screen = io.StringIO()
    with Alert(screen, {}, print) as alert:
        alert.look("demo", [ask(team)])
    assert screen.getvalue() == ""


def test_the_command_gets_the_text_as_its_last_argument(team: Team, tmp_path: Path, notes: list[str]) -> None:
    """It is no shell line: what an agent wants is never run by it."""
    script = tmp_path / "notify it.py"
    script.write_text(
        "import pathlib, sys; pathlib.Path(__file__).with_name(sys.argv[1]).write_text(sys.argv[-1])"
    )
    command = f"{sys.executable} '{script}' told --title $HOME"
    with Alert(io.StringIO(), {"SWARM_NOTIFY": command}, notes.append) as alert:
        alert.look("demo", [ask(team, "$(touch x); \x1b[2J`ls`")])
        look_until(alert, (tmp_path / "told").exists)
        wait_until((tmp_path / "told").read_text, 20.0)
    assert (
        tmp_path / "told"
    ).read_text() == "#1 w1 (task 7) wants Bash: $(touch x); \\x1b[2J`ls` (team demo)"
    assert notes == []


def test_a_command_that_hangs_holds_nothing_up(team: Team, notes: list[str]) -> None:
    command = f"{sys.executable} -c 'import time; time.sleep(600)'"
    began = time.monotonic()
    with Alert(io.StringIO(), {"SWARM_NOTIFY": command}, notes.append) as alert:
        for _ in range(10):
            alert.look("demo", [ask(team)])
    assert time.monotonic() - began < 15
    assert notes == []


@pytest.mark.parametrize("command", ["/nowhere/notify", "'unbalanced", "false"])
def test_a_command_that_fails_is_told_of_once(team: Team, notes: list[str], command: str) -> None:
    with Alert(io.StringIO(), {"SWARM_NOTIFY": command}, notes.append) as alert:
        alert.look("demo", [ask(team), ask(team)])
        look_until(alert, lambda: notes)
        alert.look("demo", [ask(team)])
    [note] = notes
    assert note.startswith("Warning: SWARM_NOTIFY does not work: ")


def test_a_terminal_that_was_closed_is_no_error(team: Team) -> None:
    class Closed(Screen):
        def write(self, _text: str) -> int:
            raise OSError(5, "closed")

    with Alert(Closed(), {}, print) as alert:
        alert.look("demo", [ask(team)])
