"""Questions can be seen and answered from any shell, by a person only."""

from __future__ import annotations

import json

import pytest

from swarm.storage.team import Team
from tests.support.documented import example
from tests.support.questions import ask
from tests.unit.cli.conftest import Swarm


def test_no_question_is_said(demo: Swarm) -> None:
    ran = demo("permissions")
    assert (ran.code, ran.out, ran.err) == (0, "", "no question is open\n")


def test_the_list_shows_each_in_a_line_and_how_to_go_on(demo: Swarm, team: Team) -> None:
    ask(team, "pip install x")
    ask(team, "make\nrm -rf \x1b[2J", agent="w2")

    ran = demo("permissions")

    assert ran.code == 0
    assert sorted(ran.lines) == [
        "#1 w1 (task 7) wants Bash: pip install x; 9m left",
        "#2 w2 (task 7) wants Bash: make\\nrm -rf \\x1b[2J; 9m left",
    ]
    assert "swarm approve 1 says yes, swarm deny 1 says no" in ran.err.replace(
        "approve 2", "approve 1"
    ).replace("deny 2", "deny 1")


def test_how_to_go_on_names_the_team_that_was_named(demo: Swarm, team: Team) -> None:
    ask(team)
    assert "swarm approve 1 -t demo says yes" in demo("permissions", "-t", "demo").err


@pytest.mark.parametrize("ref", ["1", "#1", "id"])
def test_one_is_shown_in_full(demo: Swarm, team: Team, ref: str) -> None:
    asked = ask(team, "pip install x\n" * 60)

    ran = demo("permissions", asked.id if ref == "id" else ref)

    assert ran.lines[0].startswith("#1 w1 (task 7) wants Bash in ")
    assert sum("pip install x" in line for line in ran.lines) == 60
    assert ran.lines[-1] == "  always: adds the rule Bash(pip install:*) for the whole team"
    assert ran.err == "yes: swarm approve 1, or with --always\nno: swarm deny 1 --note WHY\n"
    assert "swarm approve 1 -t demo, or" in demo("permissions", "1", "-t", "demo").err


def test_one_whose_agent_is_gone_says_so(demo: Swarm, team: Team) -> None:
    ask(team)
    team.agents.update("w1", state="stopped")

    assert demo("permissions").lines == ["#1 w1 (task 7) wants Bash: pip install x; who asked is gone"]
    assert "comes too late" in demo("permissions", "1").err
    assert demo("permissions", "--json").json()["pending"][0]["asker"] == "gone"


def test_json_has_the_documented_shape(demo: Swarm, team: Team) -> None:
    ask(team)
    shown = example("json.md", "output: permissions")

    printed = demo("permissions", "--json").json()

    assert list(printed) == list(shown)
    assert list(printed["pending"][0]) == list(shown["pending"][0])
    assert demo("permissions", "1", "--json").json() == printed


def test_all_shows_those_that_were_answered_too(demo: Swarm, team: Team) -> None:
    ask(team)
    demo("approve", "1", "--always", "--note", "once\x07")
    ask(team, agent="w2")

    ran = demo("permissions", "--all")
    assert ran.lines[0].startswith("#1 w1 (task 7) wants Bash: pip install x; allowed by user ")
    assert ran.lines[0].endswith(", always: Bash(pip install:*): once\\x07")
    assert ran.lines[1].startswith("#2 ")
    printed = demo("permissions", "--all", "--json").json()
    shown = example("json.md", "output: permissions all")
    assert list(printed["resolved"][0]) == list(shown["resolved"][0])
    assert [one["number"] for one in printed["pending"]] == [2]


def test_an_answered_one_is_shown_with_its_answer(demo: Swarm, team: Team) -> None:
    ask(team)
    demo("deny", "1", "--note", "too broad")

    ran = demo("permissions", "1")

    assert "  │ $ pip install x" in ran.lines
    assert " left" not in ran.lines[0]
    assert ran.lines[-1].startswith("  denied by user ")
    assert ran.lines[-1].endswith(": too broad")
    assert demo("permissions", "1", "--json").json()["resolved"][0]["outcome"] == "deny"


def test_approve_and_deny_answer_with_a_note(demo: Swarm, team: Team) -> None:
    first, second = ask(team), ask(team)

    yes, no = demo("approve", "1", "--note", "fine"), demo("deny", second.id, "--note", "too broad")

    assert (yes.code, yes.out, yes.err) == (0, "#1 allowed (note: fine)\n", "")
    assert (no.code, no.out, no.err) == (0, "#2 denied (note: too broad)\n", "")
    answers = [team.permissions.resolution(one.id) for one in (first, second)]
    assert [(one.outcome, one.note, one.by, one.via) for one in answers if one] == [
        ("allow", "fine", "user", "human"),
        ("deny", "too broad", "user", "human"),
    ]


def test_always_adds_the_rule_of_the_question(demo: Swarm, team: Team) -> None:
    ask(team)
    assert demo("approve", "1", "--always").out.endswith(
        "from now on Bash(pip install:*) for the whole team\n"
    )
    assert team.permissions.load_rules() == (("Bash(pip install:*)",), (), ())


@pytest.mark.parametrize("verb", ["approve", "deny"])
def test_what_nobody_asked_is_not_found(demo: Swarm, verb: str) -> None:
    error = demo(verb, "9", "--json")
    told = "there is no question #9; swarm permissions -t demo lists those that are open"
    assert (error.code, error.error()) == (
        3, {"code": "no_such_request", "message": told, "details": {"value": "9"}},
    )  # fmt: skip
    assert "there is no question 'the first'; " in demo(verb, "the first").err
    assert "swarm permissions -t demo lists them" in demo(verb, "-t", "demo").err
    assert demo("permissions", "9").code == 3


def test_the_second_answer_is_refused_and_told_of_the_first(demo: Swarm, team: Team) -> None:
    asked = ask(team)
    demo("deny", "1")

    again = demo("approve", "1", "--json")

    assert (again.code, again.error()["code"]) == (4, "already_resolved")
    assert "was already denied at " in again.error()["message"]
    answer = team.permissions.resolution(asked.id)
    assert answer is not None
    assert answer.outcome == "deny"


def test_of_several_each_is_told_of_and_the_others_are_answered(demo: Swarm, team: Team) -> None:
    asked = [ask(team), ask(team), ask(team)]
    demo("deny", "1")

    ran = demo("approve", "1", "2", "2", "#3")

    assert ran.code == 4
    assert ran.lines == ["#2 allowed", "#3 allowed"]
    assert ran.err.count("error: ") == 1
    answers = [team.permissions.resolution(one.id) for one in asked]
    assert [one and one.outcome for one in answers] == ["deny", "allow", "allow"]


@pytest.mark.parametrize("verb", ["approve", "deny"])
@pytest.mark.parametrize(("stray", "hint"), [("name the author", True), ("9", False)])
def test_where_one_is_no_question_nothing_is_answered(
    demo: Swarm, team: Team, verb: str, stray: str, hint: bool
) -> None:
    """What was meant as a reason would be lost, and the answer stands for good."""
    asked = ask(team)

    error = demo(verb, "1", stray, "--json")

    assert (error.code, error.error()["code"], error.out) == (3, "no_such_request", "")
    assert "nothing was answered" in error.error()["message"]
    assert ("--note" in error.error()["message"]) == hint
    assert team.permissions.resolution(asked.id) is None


def test_of_several_programs_get_one_object(demo: Swarm, team: Team) -> None:
    ask(team)
    ask(team)
    demo("deny", "2")
    ran = demo("approve", "1", "2", "--json")

    assert ran.code == 4
    printed = json.loads(ran.out)
    shown = example("json.md", "output: approve")
    assert list(printed) == list(shown)
    assert [list(one) for one in printed["results"]] == [list(one) for one in shown["results"]]


@pytest.mark.parametrize("verb", ["approve", "deny"])
def test_only_a_person_answers(demo: Swarm, team: Team, verb: str) -> None:
    asked = ask(team)
    ran = demo(verb, "1", SWARM_AGENT="w1")
    assert (ran.code, team.permissions.resolution(asked.id)) == (5, None)
    assert "only a person may answer questions" in ran.err


def test_an_agent_may_look(demo: Swarm, team: Team) -> None:
    ask(team)
    assert demo("permissions", SWARM_AGENT="w1").code == 0


@pytest.mark.parametrize(
    "words",
    [
        ("approve",),
        ("deny",),
        ("deny", "1", "--always"),
        ("permissions", "1", "--all"),
        ("permissions", "1", "-f"),
    ],
    ids=" ".join,
)
def test_what_makes_no_sense_is_bad_usage(demo: Swarm, team: Team, words: tuple[str, ...]) -> None:
    asked = ask(team)
    assert demo(*words).code == 2
    assert team.permissions.resolution(asked.id) is None


def test_always_where_no_rule_would_do_is_refused_before_anything_is_answered(
    demo: Swarm, team: Team
) -> None:
    asked = ask(team, rule=None)
    ran = demo("approve", "1", "--always")
    assert ran.code == 2
    assert "allow it this once" in ran.err
    assert team.permissions.resolution(asked.id) is None
    assert "--always" not in demo("permissions", "1").err
