"""What the team file answers in the name of a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from swarm.core.permission import Resolution
from swarm.leader.asked import AskedOfTheRun
from swarm.storage.syscalls import fault_hook
from swarm.storage.team import Team
from swarm.teamfile.model import Answer
from tests.support.questions import ask
from tests.support.stores import make_team

FORESEEN = [Answer(match="Bash(pip install:*)", answer="allow", note="foreseen")]


@pytest.fixture
def team(tmp_path: Path) -> Team:
    return make_team(tmp_path)


def test_question_that_was_foreseen_is_answered_and_others_wait(team: Team) -> None:
    ask(team)
    other = ask(team, "make all", rule=None)
    assert AskedOfTheRun(team, FORESEEN, "/", "/").look()
    assert team.permissions.pending() == (other,)
    given = team.permissions.find("1")
    assert isinstance(given, Resolution)
    assert (given.outcome, given.by, given.note) == ("allow", "team-lead", "foreseen")


def test_answer_that_could_not_be_written_is_given_at_the_next_look(team: Team) -> None:
    """Nobody else would: whoever runs the team has answered in advance."""
    ask(team)
    run = AskedOfTheRun(team, FORESEEN, "/", "/")
    refused: list[str] = []

    def full(name: str, path: str, size: int) -> None:
        if path.startswith(team.layout.resolved_dir) and name == "append":
            refused.append(path)
            raise OSError(28, "No space left on device")

    with fault_hook(full):
        assert run.look()
    assert len(refused) == 1
    assert not run.look()
    assert team.permissions.pending() == ()


def test_question_that_was_changed_is_left_to_a_person(team: Team) -> None:
    asked = ask(team)
    path = Path(team.layout.pending_dir, f"{asked.id}.json")
    path.write_text(path.read_text().replace("pip install x", "pip install y"))
    run = AskedOfTheRun(team, FORESEEN, "/", "/")
    assert run.look()
    assert run.look()
    assert len(team.permissions.pending()) == 1
