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
        "ok", "yy 2", "x 2", "2 y", "y two", "yes please", "no idea what this is", "n 1 2 tests fail",
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
    ask(team)
    said = desk.take("n 1 2 tests fail").text
    assert said == (
        "Nothing answered: not clear, #2 is not open. "
        "Type n 1 because 2 tests fail   or   n 1 because tests fail"
    )
    ask(team)
    said = desk.take("n 1 2 tests fail").text
    assert said == (
        "Nothing answered: not clear. Type n 1 because 2 tests fail   or   n 1 2 because tests fail"
    )


def test_of_numbers_of_which_none_is_open_the_note_is_kept(team: Team, desk: AnswerDesk) -> None:
    ask(team)
    desk.take("n 1")
    ask(team)
    said = desk.take("y 1 9 thanks").text
    assert said == "Nothing answered: not clear, #1 and #9 are not open. Type y 2 because thanks"


def test_what_can_be_typed_is_about_the_question_that_is_shown_first(team: Team, desk: AnswerDesk) -> None:
    asked = [ask(team), ask(team), ask(team)]
    seen = [asked[1].id, asked[0].id]

    assert desk.take("hm", seen).text.endswith("Type y 2, n 2 WHY, a 2, or ? for help")
    assert desk.take("y", seen).text.endswith("Type y 2, or y 2 1 3 for all")
    assert "y 2 1 = both; 1 = show it in full" in desk.take("?", seen).text


def test_with_no_question_open_nothing_is_to_be_typed(desk: AnswerDesk) -> None:
    assert desk.take("hello") == desk.take("y") == Said(text="No question is open.", bad=True)


def test_a_number_alone_shows_that_question(team: Team, desk: AnswerDesk) -> None:
    asked = [ask(team), ask(team)]
    assert desk.take("2") == desk.take("#2") == Said(text="", show=asked[1].id)
    desk.take("n 2 no")
    assert desk.take("2") == Said(text="#2 denied (note: no)")
    assert desk.take("9").bad
    assert answers(team, asked[0]) == [None]


def test_what_is_said_can_be_typed_as_it_stands(team: Team, desk: AnswerDesk) -> None:
    ask(team)
    desk.take("n 1")
    ask(team)
    assert "n 2 WHY = " in desk.take("?").text
    assert "swarm resume demo " in desk.take("?").text
    assert "both" not in desk.take("?").text
    assert desk.take("no idea").text == "Nothing answered: not clear. Type no 2 because idea"


def test_several_at_once(team: Team, desk: AnswerDesk) -> None:
    asked = [ask(team), ask(team), ask(team)]

    assert desk.take("y 1 3 3") == Said(text="#1 allowed; #3 allowed")
    assert answers(team, *asked) == [("allow", None), None, ("allow", None)]


def test_of_several_each_is_told_of(team: Team, desk: AnswerDesk) -> None:
    asked = [ask(team), ask(team)]
    desk.take("y 2")

    said = desk.take("n 2,1 because no")

    assert said.bad
    assert said.text.startswith("#2 was already allowed at ")
    assert said.text.endswith("; #1 denied (note: no)")
    assert answers(team, *asked) == [("deny", "no"), ("allow", None)]


def test_where_one_is_no_question_nothing_is_answered(team: Team, desk: AnswerDesk) -> None:
    asked = ask(team)
    told = "there is no question #9; swarm permissions -t demo lists those that are open"
    assert desk.take("n 1 9 because no") == Said(text=f"Nothing answered: {told}", bad=True)
    assert desk.take("y 9") == Said(text=f"Nothing answered: {told}", bad=True)
    assert desk.take("9") == Said(text=told, bad=True)
    assert answers(team, asked) == [None]


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


@pytest.mark.parametrize("others", [0, 1])
def test_a_bare_yes_is_for_the_question_that_was_alone_on_the_screen_when_it_was_begun(
    team: Team, desk: AnswerDesk, others: int
) -> None:
    """Another that came meanwhile, or was left when one was answered elsewhere, was not meant."""
    first = ask(team)
    seen = [first.id, *(ask(team).id for _ in range(others))]
    desk.take("y 1")
    asked = ask(team) if others == 0 else team.permissions.pending()[0]
    ref = asked.number

    said = desk.take("y", seen)

    assert said.bad
    assert (
        said.text
        == f"Nothing answered: the questions changed while you typed. Look at #{ref}, then type y {ref}"
    )
    assert answers(team, asked) == [None]
    assert desk.take("y", [asked.id]) == Said(text=f"#{ref} allowed")


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
    assert "was already denied at " in said.text
    assert said.text.isprintable()
    assert answers(team, asked)[0] is not None


def test_help_and_an_empty_line(desk: AnswerDesk) -> None:
    assert desk.take("") == desk.take("  ") == Said(text="")
    assert "n 3 WHY = " in desk.take("?").text
