"""A teammate whose call was refused for money: it waits, and goes on when there is more."""

from __future__ import annotations

import pytest

from swarm.errors import StateError
from tests.integration.team.steps import W1, controls, state, task
from tests.support.live_team import LiveTeam

MODEL = "claude-sonnet-5-5"


def refuse(team: LiveTeam, name: str) -> None:
    """Let this life have been refused a call that may cost ten dollars."""
    with pytest.raises(StateError):
        team.team.costs.reserve(team.run_id(name), MODEL, 0, 1_000_000)


async def test_without_money_nothing_is_claimed_until_there_is_more(make) -> None:
    team = make(task("map"), teammates=[W1])
    team.team.costs.set_terms({"budget_usd": 5})
    refuse(team, "w1")
    team.start("w1")

    await team.until(lambda: state(team, "w1") == ("idle", "budget_spent", None))
    await team.until_looked("w1")
    assert team.task("map").status == "pending"
    (told,) = controls(team, "w1")
    assert (told["type"], told["idleReason"]) == ("idle_notification", "budget_spent")

    team.team.costs.set_terms({"budget_usd": 15})
    await team.until_finished()


async def test_money_that_another_one_leaves_is_enough_to_go_on(make) -> None:
    """Its call was under way at its worst case, and cost nothing."""
    team = make(task("map"), teammates=[W1])
    team.team.costs.set_terms({"budget_usd": 15})
    team.team.costs.reserve("k3v9qd7m.other.1", MODEL, 0, 1_000_000)
    refuse(team, "w1")
    team.start("w1")
    await team.until(lambda: state(team, "w1") == ("idle", "budget_spent", None))

    team.team.costs.record(agent="other", run_id="k3v9qd7m.other.1", task=None, model=MODEL, usage={})

    await team.until_finished()


async def test_another_life_is_not_held_back(make) -> None:
    """It may need less: it finds out by itself."""
    team = make(task("map"), teammates=[W1])
    team.team.costs.set_terms({"budget_usd": 5})
    refuse(team, "w1")
    team.start("w1", life=2)

    await team.until_finished()
