"""What a person sees of a task whose worker is dead, and how it goes on."""

from __future__ import annotations

import pytest

from swarm.core.task import Task
from swarm.storage.team import Team
from tests.unit.cli.conftest import Swarm
from tests.unit.cli.steps import a_record, add, shown, swarm_of

GONE_PID = 2**22 + 1
NOTE = "task 1: w1 died: its process is gone; the next claim frees it"


@pytest.fixture
def left(demo: Swarm, team: Team) -> None:
    """Task 1 in the hands of w1, whose process is gone."""
    add(demo, "first")
    assert isinstance(team.tasks("w1").claim("w1", None, "k3v9qd7m.w1.1"), Task)
    team.agents.save(a_record("w1", pid=GONE_PID, task="1"))


@pytest.mark.parametrize("words", [("task", "list"), ("task", "show", "1")])
def test_a_task_of_a_dead_worker_is_shown_as_that(demo: Swarm, left: None, words: tuple[str, ...]) -> None:
    """The result stays what the files say; the remark beside it is for people."""
    ran = demo(*words)
    assert (ran.code, ran.err) == (0, f"{NOTE}\n")
    assert demo("-q", *words).err == ""
    assert demo(*words, "--json").err == ""


def test_nothing_is_remarked_about_who_is_alive(demo: Swarm, team: Team, left: None) -> None:
    team.agents.save(a_record("w1", task="1"))
    assert demo("task", "list").err == ""


def test_looking_frees_nothing(demo: Swarm, left: None) -> None:
    demo("task", "list")
    demo("status")
    assert shown(demo, "1")["status"] == "in_progress"


@pytest.mark.parametrize("words", [("1",), ()], ids=["this task", "any task"])
def test_a_claim_by_anybody_frees_it_first(demo: Swarm, left: None, words: tuple[str, ...]) -> None:
    task = demo("task", "claim", *words, "--as", "x", "--json").json()

    assert (task["id"], task["owner"], swarm_of(task)["crashes"]) == ("1", "x", 1)
    assert demo("task", "list").err == ""


def test_who_is_alive_keeps_it(demo: Swarm, team: Team, left: None) -> None:
    team.agents.save(a_record("w1", task="1"))
    assert demo("task", "claim", "1", "--as", "x", "--json").error()["code"] == "taken"
