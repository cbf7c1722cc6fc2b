"""`swarm task wait` always comes back, and tells the truth."""

import pytest

from tests.unit.cli.conftest import Swarm
from tests.unit.cli.steps import add, claimed


def ended(demo: Swarm, *verbs: str) -> None:
    for number, verb in enumerate(verbs, start=1):
        add(demo, f"task {number}")
        if verb in {"complete", "fail"}:
            claimed(demo, str(number), f"w{number}")
            demo("task", verb, str(number), "--as", f"w{number}")
        elif verb == "cancel":
            demo("task", "cancel", str(number))


def test_wait_ends_when_all_are_finished(demo: Swarm) -> None:
    ended(demo, "complete", "complete")

    ran = demo("task", "wait", "--json")
    assert ran.code == 0
    assert [task["status"] for task in ran.json()["tasks"]] == ["completed", "completed"]


@pytest.mark.parametrize("verb", ["fail", "cancel"])
def test_wait_tells_that_some_were_not_completed(demo: Swarm, verb: str) -> None:
    ended(demo, "complete", verb)

    assert demo("task", "wait").code == 6
    assert demo("task", "wait", "1").code == 0
    assert demo("task", "wait", "2", "1", "2").code == 6


def test_wait_gives_up_in_time(demo: Swarm) -> None:
    ended(demo, "complete", "nothing")
    error = demo("task", "wait", "--timeout", "0.05", "--json").error()

    assert (error["code"], error["details"]) == ("timed_out", {"tasks": ["2"]})
    assert demo("task", "wait", "2", "--timeout", "0").code == 124
    assert demo("task", "wait", "1", "--timeout", "0").code == 0


def test_wait_does_not_wait_for_what_cannot_come(demo: Swarm) -> None:
    """A task behind a failed one stays pending until a person acts; waiting for it would be for ever."""
    ended(demo, "fail")
    add(demo, "second", "--blocked-by", "1")
    ran = demo("task", "wait")

    assert ran.code == 6
    assert "task 2 cannot go on" in ran.err


def test_wait_for_an_unknown_task_is_refused(demo: Swarm) -> None:
    assert demo("task", "wait", "7", "--json").error()["code"] == "no_such_task"


def test_nothing_to_wait_for_is_done(demo: Swarm) -> None:
    assert demo("task", "wait", "--json").json() == {"team": "demo", "tasks": []}
