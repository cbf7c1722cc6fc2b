"""A typed line answers exactly the question that it names, or nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from swarm.cli.answer_desk import AnswerDesk, Said
from swarm.core.permission import PermissionRequest
from swarm.storage.team import Team
from swarm.testing.clock import FakeClock
from tests.support.questions import ask
from tests.support.stores import make_team


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def team(tmp_path: Path, clock: FakeClock) -> Team:
    return make_team(tmp_path / "root", clock=clock)


@pytest.fixture
def desk(team: Team) -> AnswerDesk:
    return AnswerDesk(team)


def answers(team: Team, *asked: PermissionRequest) -> list[tuple[str, str | None] | None]:
    found = [team.permissions.resolution(request.id) for request in asked]
    return [None if one is None else (one.outcome, one.note) for one in found]


@pytest.mark.parametrize(
    ("line", "outcome", "note"),
    [
        ("y 2", "allow", None),
        ("  Y   2 ", "allow", None),
        ("yes #2", "allow", None),
        ("y2", "allow", None),
        ("allow 2", "allow", None),
        ("approve 2", "allow", None),
        ("a 2", "allow", None),
        ("always 2", "allow", None),
        ("n 2", "deny", None),
        ("no 2", "deny", None),
        ("deny 2", "deny", None),
        ("n 2 because it is too   broad", "deny", "it is too broad"),
        ("n 2 too broad", "deny", "too broad"),
        ("n 2: too broad", "deny", "too broad"),
        ("y 2 only this once", "allow", "only this once"),
        ("n 2 because 3 tests fail", "deny", "3 tests fail"),
        ("n 2 because", "deny", None),
    ],
)
def test_a_clear_line_answers_that_question_and_no_other(
    team: Team, desk: AnswerDesk, line: str, outcome: str, note: str | None
) -> None:
    asked = [ask(team), ask(team), ask(team)]

    said = desk.take(line)

    assert not said.bad, said.text
    assert said.text.startswith("#2 allowed" if outcome == "allow" else "#2 denied")
    assert answers(team, *asked) == [None, (outcome, note), None]


def test_an_id_of_a_plan_is_understood(desk: AnswerDesk) -> None:
    said = desk.take("y plan_approval-1796042339393@w1@demo")
    assert "plan_approval-1796042339393@w1@demo" in said.text


def test_an_id_will_do_too(team: Team, desk: AnswerDesk) -> None:
    first, second = ask(team), ask(team)
    desk.take(f"n {second.id} no")
    assert answers(team, first, second) == [None, ("deny", "no")]


@pytest.mark.parametrize(
    "line",
    [
        "2", "ok", "yy 2", "x 2", "2 y", "y two", "yes please", "no idea what this is", "n 1 2 tests fail",
        "y *", "y all", "a lot", "-y 2", "y -2", "y 1-3", "y 2.", "\x1b[31m", "y 1,x",
    ],
)  # fmt: skip
def test_an_unclear_line_answers_nothing_and_says_what_to_type(
    team: Team, desk: AnswerDesk, line: str
) -> None:
    asked = [ask(team), ask(team)]

    said = desk.take(line)

    assert said.bad
    assert said.text.startswith("Nothing answered: ")
    assert " Type " in said.text
    assert said.text.isprintable()
    assert answers(team, *asked) == [None, None]


def test_a_note_that_begins_with_a_number_is_asked_about(team: Team, desk: AnswerDesk) -> None:
    assert desk.take("n 1 2 tests fail").text.endswith("Type n 1 because 2 tests fail")


def test_what_is_said_can_be_typed_as_it_stands(team: Team, desk: AnswerDesk) -> None:
    ask(team)
    desk.take("n 1")
    ask(team)
    assert "n 2 because WHY" in desk.take("?").text
    assert desk.take("no idea").text == "Nothing answered: not clear. Type no 2 because idea"


def test_several_at_once(team: Team, desk: AnswerDesk) -> None:
    asked = [ask(team), ask(team), ask(team)]

    assert desk.take("y 1 3 3") == Said(text="#1 allowed; #3 allowed")
    assert answers(team, *asked) == [("allow", None), None, ("allow", None)]


def test_of_several_each_is_told_of(team: Team, desk: AnswerDesk) -> None:
    asked = ask(team)

    said = desk.take("n 9,1 because no")

    assert said.bad
    assert "'9'" in said.text
    assert said.text.endswith("; #1 denied (note: no)")
    assert answers(team, asked) == [("deny", "no")]


def test_without_a_number_it_is_the_only_one(team: Team, desk: AnswerDesk) -> None:
    asked = ask(team)
    assert desk.take("y") == Said(text="#1 allowed")
    assert answers(team, asked) == [("allow", None)]
    assert desk.take("y") == Said(text="No question is open.", bad=True)


def test_without_a_number_one_of_several_is_asked_for(team: Team, desk: AnswerDesk, clock: FakeClock) -> None:
    asked = [ask(team)]
    clock.advance(1)
    asked.append(ask(team))
    said = desk.take("n")
    assert said.bad
    assert said.text.endswith("Type n 1, or n 1 2 for all")
    assert answers(team, *asked) == [None, None]


def test_one_that_nobody_waits_for_does_not_make_it_unclear(team: Team, desk: AnswerDesk) -> None:
    ask(team, agent="w2")
    team.agents.update("w2", state="stopped")
    asked = ask(team)
    assert desk.take("n because it is late") == Said(text="#2 denied (note: it is late)")
    assert answers(team, asked) == [("deny", "it is late")]


def test_a_bare_yes_is_not_taken_for_a_question_that_came_while_it_was_typed(
    team: Team, desk: AnswerDesk, clock: FakeClock
) -> None:
    ask(team)
    desk.take("y")
    asked = ask(team)

    said = desk.take("y")

    assert said == Said(text="Nothing answered: #2 has only just come. Look at it, then type y 2", bad=True)
    assert answers(team, asked) == [None]
    clock.advance(1.1)
    assert desk.take("y") == Said(text="#2 allowed")


def test_always_adds_the_rule(team: Team, desk: AnswerDesk) -> None:
    ask(team)
    said = desk.take("a 1")
    assert said == Said(text="#1 allowed, and from now on Bash(pip install:*) for the whole team")
    assert team.permissions.load_rules() == (("Bash(pip install:*)",), (), ())


def test_always_without_a_rule_answers_nothing(team: Team, desk: AnswerDesk) -> None:
    asked = ask(team, rule=None)
    said = desk.take("a 1")
    assert said.bad
    assert "allow it this once" in said.text
    assert answers(team, asked) == [None]


def test_a_second_answer_is_told_who_was_first(team: Team, desk: AnswerDesk) -> None:
    asked = ask(team)
    desk.take("n 1 because of\x1b[2J it")
    said = desk.take("y 1")
    assert said.bad
    assert "was denied by user" in said.text
    assert said.text.isprintable()
    assert answers(team, asked)[0] is not None


def test_help_and_an_empty_line(desk: AnswerDesk) -> None:
    assert desk.take("") == desk.take("  ") == Said(text="")
    assert "n 3 because WHY" in desk.take("?").text
