"""Questions whose askers and answerers are killed, have no room, or do the same at the same moment."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from swarm.core.identity import LEADER
from swarm.core.permission import Resolution
from swarm.storage.clock import SystemClock
from swarm.storage.team import Team
from tests.support.question_kills import DEEDS
from tests.support.questions import ask
from tests.support.racers import race
from tests.support.races import run_program
from tests.support.stores import SETTINGS, make_team
from tests.support.verbs import RACER

STATES = {"ask_always": 4, "hand_in_plan": 4, "allow": 2, "deny": 2, "expire": 2}


@pytest.mark.parametrize("deed", DEEDS)
def test_cut_off_deed_leaves_whole_questions_answers_and_rules(tmp_path: Path, deed: str) -> None:
    """At every call and inside every write: an answer stands as it was given, and nothing else allows."""
    counted = json.loads(run_program("question_kills", tmp_path, deed))
    assert counted["states"] == STATES.get(deed, 3)
    assert counted["kills"] >= 10


EIGHT = [f"racer-{number}" for number in range(8)]

ASKS = """
from tests.support.questions import ask
say([ask(team, agent=name).number for _ in range(10)])
"""

ANSWERS = """
from swarm.leader.asked import AskedOfTheRun
from swarm.teamfile.model import Answer
deed = name.split("-")[0]
if deed == "leader":
    foreseen = [Answer(match="Bash(pip install 0)", answer="allow", note="foreseen")]
    run = AskedOfTheRun(team, foreseen, workspace="/", home="/")
    while run.look():
        pass
    say([])
else:
    words = {"yes": ["approve"], "always": ["approve", "--always"], "no": ["deny"]}[deed]
    told = [verb(root, *words, str(number), "--note", name, "--json") for number in range(1, 9)]
    say([[one.code, json.loads(one.out or one.err)] for one in told])
"""
ANSWERERS = ("yes-1", "yes-2", "always-1", "always-2", "no-1", "no-2", "leader-1", "leader-2")


def test_no_two_of_many_that_ask_at_once_get_the_same_number(tmp_path: Path) -> None:
    team = make_team(tmp_path)
    given = [number for numbers in race(tmp_path, EIGHT, ASKS) for number in numbers]
    assert sorted(given) == list(range(1, 81))
    assert {one.number for one in team.permissions.pending()} == set(given)


def test_of_people_and_leaders_that_answer_at_once_the_first_counts(tmp_path: Path) -> None:
    """Everybody else is told who was first, and what was said then stands."""
    team = Team(make_team(tmp_path).layout, SETTINGS, SystemClock())
    for number in range(8):
        ask(team, f"pip install {number % 2}")
    heard = dict(zip(ANSWERERS, race(tmp_path, ANSWERERS, RACER + ANSWERS), strict=True))
    assert team.permissions.pending() == ()
    for number in range(1, 9):
        counted = team.permissions.find(str(number))
        assert isinstance(counted, Resolution)
        told = {name: answers[number - 1] for name, answers in heard.items() if answers}
        won = [name for name, (code, _) in told.items() if code == 0]
        assert won == ([] if counted.by == LEADER else [counted.note])
        errors = [said["error"] for code, said in told.values() if code]
        assert {error["code"] for error in errors} == {"already_resolved"}
        assert {code for code, _ in told.values()} <= {0, 4}
        assert {error["details"]["outcome"] for error in errors} == {counted.outcome}
        assert {error["details"]["at"] for error in errors} == {counted.at}
    told_of = [one.data["number"] for _, one in team.events.read() if one.event == "permission_resolved"]
    assert sorted(told_of) == list(range(1, 9))
    always = any(one.rule for one in team.permissions.list_resolved())
    assert team.permissions.load_rules() == (("Bash(pip install:*)",) if always else (), (), ())
