"""`swarm cost`, and what other verbs say of money."""

from __future__ import annotations

from pathlib import Path

import pytest

from swarm.errors import StateError
from swarm.storage.team import Team
from tests.support.documented import example
from tests.unit.cli.conftest import Swarm
from tests.unit.cli.steps import add

MODEL = "claude-sonnet-5-5"


def call(team: Team, name: str, task: str | None, model: str = MODEL, **usage: int) -> None:
    run_id = f"k3v9qd7m.{name}.1"
    team.costs.reserve(run_id, model, 100_000, 10_000)
    team.costs.record(agent=name, run_id=run_id, task=task, model=model, usage=usage)


@pytest.fixture
def spent(demo: Swarm, team: Team) -> Swarm:
    """Three dollars of five are spent, and nearly a third of a dollar is set aside."""
    add(demo, "Rename it")
    team.costs.set_terms({"budget_usd": 5})
    call(team, "w1", "1", input_tokens=212_500, cache_read_input_tokens=750_000)  # 0.575
    call(team, "w1", None, output_tokens=100_000)  # 1
    call(team, "w2", "10", cache_creation_input_tokens=500_000)  # 1.25
    call(team, "w2", "2", output_tokens=17_500)  # 0.175
    team.costs.reserve("k3v9qd7m.w3.1", MODEL, 100_000, 10_000)  # 0.35
    return demo


def test_the_sums_are_told_by_teammate_and_task(spent: Swarm) -> None:
    assert spent("cost").lines == [
        "$3.00 of $5.00 for 4 calls",
        "$0.35 set aside for calls under way, or whose end nobody saw",
        "$1.65 left",
        "",
        "teammate             calls  in       cached  out      cost",
        "w1                   2      962,500  78%     100,000  $1.58",
        "w2                   2      500,000  0%      17,500   $1.43",
        "task",
        "1         Rename it  1      962,500  78%     0        $0.58",
        "2                    1      0                17,500   $0.18",
        "10                   1      500,000  0%      0        $1.25",
        "none                 1      0                100,000  $1.00",
    ]


def test_json_has_exact_sums_and_the_documented_shape(spent: Swarm) -> None:
    shown = spent("cost", "--json").json()
    documented = example("json.md", "output: cost")

    assert list(shown) == list(documented)
    assert list(shown["agents"][0]) == list(documented["agents"][0])
    assert list(shown["tasks"][0]) == list(documented["tasks"][0])
    assert (shown["budget_usd"], shown["usd"], shown["reserved_usd"], shown["calls"]) == (5.0, 3.0, 0.35, 4)
    assert shown["cache_read_share"] == 0.5128
    assert [(a["name"], a["usd"], a["reserved_usd"]) for a in shown["agents"]] == [
        ("w1", 1.575, 0.0),
        ("w2", 1.425, 0.0),
        ("w3", 0.0, 0.35),
    ]
    assert [(task.get("id"), task["usd"]) for task in shown["tasks"]] == [
        ("1", 0.575),
        ("2", 0.175),
        ("10", 1.25),
        (None, 1.0),
    ]


def test_a_team_without_calls_has_cost_nothing(demo: Swarm) -> None:
    assert demo("cost").lines == ["$0.00 for 0 calls"]
    shown = demo("cost", "--json").json()
    assert "budget_usd" not in shown
    assert "cache_read_share" not in shown
    assert (shown["usd"], shown["agents"], shown["tasks"]) == (0.0, [], [])


def test_calls_without_a_price_are_counted_and_said(demo: Swarm, team: Team) -> None:
    call(team, "w1", "1", model="unheard-of", input_tokens=5)

    assert demo("cost").lines[:2] == [
        "$0.00 for 1 call",
        "1 call of models whose price is not known: not in these sums",
    ]
    assert demo("cost", "--json").json()["unpriced_calls"] == 1


def test_a_damaged_line_is_passed_over_and_found_by_doctor(spent: Swarm, team: Team) -> None:
    with Path(team.layout.costs).open("a") as file:
        file.write('{"time": "2026-11-30T12:00:00.000Z", "run_id": "w1", "reserve_usd": 1}\n')

    assert spent("cost", "--json").json()["usd"] == 3.0
    found = spent("doctor", "-t", "demo", "--json").out
    assert "damaged_lines" in found
    assert "costs.jsonl" in found


def test_status_tells_what_is_spent(spent: Swarm) -> None:
    assert spent("status", "--json").json()["usd"] == 3.0
    assert "$3.00 of $5.00 spent" in spent("status").lines


def test_status_is_silent_about_money_that_was_never_spent(demo: Swarm, team: Team) -> None:
    call(team, "w1", "1", model="scripted")

    assert "$" not in demo("status").out


def test_a_budget_that_is_spent_is_said_with_the_way_out(team: Team) -> None:
    team.costs.set_terms({"budget_usd": 0.000001})
    with pytest.raises(StateError, match=r"swarm resume demo --budget USD goes on with more") as caught:
        call(team, "w1", "1")
    assert caught.value.exit_code == 7


def test_a_teammate_without_a_price_is_not_started_into_a_budget(demo: Swarm, team: Team) -> None:
    team.costs.set_terms({"budget_usd": 5})

    error = demo("spawn", "w3", "--model", "own", "--json").error()

    assert (error["code"], error["details"]) == ("no_price", {"value": "own"})
    assert team.agents.load("w3") is None


@pytest.mark.parametrize("amount", ["0", "-1", "five", "nan", "inf", "0.0000001", "2000000000", ""])
def test_what_is_no_budget_is_refused(swarm: Swarm, amount: str) -> None:
    for verb in (("run", "x.yaml"), ("resume",)):
        error = swarm(*verb, f"--budget={amount}", "--json").error()
        assert error["code"] == "bad_value"
        assert error["message"].endswith("give an amount in US dollars, such as 5 or 0.50")
