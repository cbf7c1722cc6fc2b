"""Claiming and completing at the command line."""

import pytest

from swarm.storage.team import Team
from tests.unit.cli.conftest import Swarm
from tests.unit.cli.steps import a_record, add, claimed, swarm_of, with_members


def test_a_claim_prints_its_token_and_belongs_to_no_process(demo: Swarm) -> None:
    """Its run id ends in `.cli`: such a claim is never freed as that of a dead worker."""
    add(demo, "first")
    task = demo("task", "claim", "--as", "w1", "--json").json()

    run_id = swarm_of(task)["claim"]["run_id"]
    assert run_id.endswith(".w1.cli")
    assert task["token"].endswith(f"/{run_id}")
    assert (task["owner"], task["status"]) == ("w1", "in_progress")


def test_a_claim_by_a_workers_command_belongs_to_the_worker(demo: Swarm, team: Team) -> None:
    team.agents.save(a_record("w1").replace(run_id="k3v9qd7m.w1.2"))
    add(demo, "first")
    task = demo("task", "claim", "--json", SWARM_AGENT="w1", SWARM_RUN_ID="k3v9qd7m.w1.2").json()

    assert swarm_of(task)["claim"]["run_id"] == "k3v9qd7m.w1.2"


@pytest.mark.parametrize("run_id", ["k3v9qd7m.other.2", "rubbish", ""])
def test_a_run_id_that_is_not_the_agents_is_not_used(demo: Swarm, run_id: str) -> None:
    add(demo, "first")
    task = demo("task", "claim", "--json", SWARM_AGENT="w1", SWARM_RUN_ID=run_id).json()

    assert swarm_of(task)["claim"]["run_id"].endswith(".w1.cli")


def test_a_claim_that_cannot_be_is_refused_with_its_own_reason(demo: Swarm) -> None:
    """Unknown, finished, blocked and foreign: four codes, four sentences."""
    add(demo, "done")
    add(demo, "foreign")
    add(demo, "blocked", "--blocked-by", "2")
    claimed(demo, "1")
    demo("task", "complete", "1", "--as", "w1")
    claimed(demo, "2", "w2")

    errors = [demo("task", "claim", i, "--as", "w1", "--json").error() for i in ("999", "1", "3", "2")]

    assert [error["code"] for error in errors] == ["no_such_task", "finished", "blocked", "taken"]
    assert len({error["message"] for error in errors}) == 4
    assert errors[2]["details"] == {"task": "3", "open_blockers": ["2"]}
    assert demo("task", "claim", "--as", "w1", "--json").error()["code"] == "nothing_ready"


def test_complete_without_a_token_is_for_the_owner(demo: Swarm) -> None:
    add(demo, "first")
    assert demo("task", "complete", "1", "--as", "w1", "--json").error()["code"] == "not_owner"
    claimed(demo, "1")
    assert demo("task", "complete", "1", "--as", "w2", "--json").error()["code"] == "not_owner"

    task = demo("task", "complete", "1", "--as", "w1", "--result", "done", "--json").json()
    assert (task["status"], swarm_of(task)["result"]["summary"]) == ("completed", "done")
    assert "token" not in task


def test_completing_twice_is_once(demo: Swarm) -> None:
    """Whoever was cut off before the answer came may ask again."""
    add(demo, "first")
    claimed(demo, "1")

    first = demo("task", "complete", "1", "--as", "w1", "--result", "done", "--json").json()
    assert demo("task", "complete", "1", "--as", "w1", "--result", "again", "--json").json() == first


def test_a_token_of_an_earlier_claim_is_stale(demo: Swarm) -> None:
    add(demo, "first")
    old = claimed(demo, "1")
    demo("task", "release", "1", "--as", "w1")
    new = claimed(demo, "1")

    for verb in ("complete", "fail", "release"):
        error = demo("task", verb, "1", "--as", "w1", "--token", old, "--json").error()
        assert error["code"] == "stale_token"
    assert demo("task", "complete", "1", "--as", "w1", "--token", new).code == 0


def test_a_name_in_another_case_is_no_second_agent(demo: Swarm) -> None:
    """Names are one in any case, on the roster as among those who only claim."""
    with_members(demo, {"name": "w1"})
    for subject in ("first", "second", "third"):
        add(demo, subject)
    wrong = demo("task", "claim", "--as", "W1", "--json")
    assert (wrong.code, wrong.error()["code"]) == (2, "bad_name")
    assert wrong.error()["details"] == {"value": "W1", "suggestion": "w1"}

    claimed(demo, "1", "Bob")
    for words in ((), ("2",)):
        error = demo("task", "claim", *words, "--as", "bob", "--json").error()
        assert (error["code"], error["details"]) == ("bad_name", {"value": "bob", "suggestion": "Bob"})
    demo("task", "complete", "1", "--as", "Bob")
    claimed(demo, "2", "bob")
    assert demo("task", "list", "--status", "in_progress", "--json").json()["tasks"][0]["owner"] == "bob"
