"""The account that a model's requests keep: one budget for the team, lines for who spent what."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Iterator
from pathlib import Path

import pytest

from swarm.core.task import NewTask
from swarm.errors import LockTimeoutError, ModelError
from swarm.storage.lock import FileLock
from swarm.storage.syscalls import fault_hook
from swarm.storage.team import Team
from tests.support.faults import FailAt, Point
from tests.support.stores import RUN_OF, SETTINGS, claim_task, make_team
from worker.spending import Spending

MODEL = "claude-sonnet-5-5"


@pytest.fixture
def team(tmp_path: Path) -> Iterator[Team]:
    made = make_team(tmp_path / "root", settings=SETTINGS.replace(lock_timeout_seconds=0.0))
    made.tasks("user").create(NewTask(subject="first"))
    yield made
    made.close()


@pytest.fixture
def spending(team: Team) -> Spending:
    return Spending(team, "w1", RUN_OF["w1"])


async def test_a_call_is_booked_for_the_task_in_hand(team: Team, spending: Spending) -> None:
    claim_task(team, "w1")
    await spending.open(MODEL, 10_000, 1_000)
    assert team.costs.table().reserved_by_agent() == {"w1": 35_000}

    spending.settle(MODEL, {"input_tokens": 500, "cache_read_input_tokens": 8_000, "output_tokens": 100})

    table = team.costs.table()
    assert table.reserved == 0
    assert table.tasks["1"].micros == table.agents["w1"].micros == 1_000 + 1_600 + 1_000


async def test_a_call_that_was_not_served_costs_nothing(team: Team, spending: Spending) -> None:
    await spending.open(MODEL, 10_000, 1_000)
    spending.settle(MODEL, {})

    assert team.costs.table().spent == 0
    assert team.costs.table().tasks[None].calls == 1


async def test_an_answer_that_broke_off_counts_to_its_limit(team: Team, spending: Spending) -> None:
    await spending.open(MODEL, 10_000, 1_000)
    spending.settle(MODEL, {"input_tokens": 500, "output_tokens": 100}, unsaid_tokens=900)

    assert team.costs.table().spent == 1_000 + 10_000
    assert team.costs.table().total.micros == 2_000


async def test_a_request_that_is_never_settled_stays_spent(team: Team, spending: Spending) -> None:
    await spending.open(MODEL, 10_000, 1_000)
    await spending.open(MODEL, 10_000, 1_000)
    spending.settle(MODEL, {})

    assert team.costs.table().spent == 35_000


async def test_a_spent_budget_is_a_model_error_and_an_event(team: Team, spending: Spending) -> None:
    claim_task(team, "w1")
    team.costs.set_terms({"budget_usd": 0.01})

    with pytest.raises(ModelError, match="the budget of team demo is spent") as caught:
        await spending.open(MODEL, 10_000, 1_000)

    assert (caught.value.code, caught.value.exit_code) == ("budget_spent", 7)
    assert caught.value.details["kind"] == "budget_spent"
    (event,) = [event for _, event in team.events.read() if event.event == "budget_spent"]
    assert (event.agent, event.run_id, event.task) == ("w1", RUN_OF["w1"], "1")
    assert event.data == {"budget_usd": 0.01, "spent_usd": 0.0, "needed_usd": 0.035}
    assert team.costs.table().is_short(RUN_OF["w1"])


async def test_an_event_that_cannot_be_written_hides_no_refusal(team: Team, spending: Spending) -> None:
    team.costs.set_terms({"budget_usd": 0.01})
    held = FileLock(team.layout.lock("events"), team.settings, team.clock, "somebody")

    with held, pytest.raises(ModelError, match="is spent"):
        await spending.open(MODEL, 10_000, 1_000)


async def test_a_model_without_a_price_is_a_model_error_under_a_budget(
    team: Team, spending: Spending
) -> None:
    team.costs.set_terms({"budget_usd": 1})

    with pytest.raises(ModelError, match="no price of own is known") as caught:
        await spending.open("own", 1, 1)

    assert (caught.value.code, caught.value.details["kind"]) == ("no_price", "no_price")


async def test_files_that_cannot_be_used_allow_no_call(team: Team, spending: Spending) -> None:
    held = FileLock(team.layout.lock("costs"), team.settings, team.clock, "somebody")

    with held, pytest.raises(LockTimeoutError):
        await spending.open(MODEL, 1, 1)


async def test_a_cost_that_cannot_be_written_stays_set_aside(team: Team, spending: Spending) -> None:
    await spending.open(MODEL, 10_000, 1_000)
    with fault_hook(FailAt(Point(0, "open"), code=errno.ENOSPC, lasting=True)):
        spending.settle(MODEL, {"output_tokens": 1})

    assert team.costs.table().spent == 35_000


async def test_a_call_waits_for_what_others_leave(team: Team, spending: Spending) -> None:
    team.costs.set_terms({"budget_usd": 0.06})
    other = Spending(team, "w2", RUN_OF["w2"])
    await other.open(MODEL, 10_000, 1_000)
    waiting = asyncio.create_task(spending.open(MODEL, 10_000, 1_000))
    await asyncio.sleep(0.2)
    assert not waiting.done()
    assert not team.costs.table().is_short(RUN_OF["w1"])

    other.settle(MODEL, {"output_tokens": 1_000})
    await waiting
    assert team.costs.table().spent == 10_000 + 35_000


async def test_nobody_waits_for_ever_for_one_that_may_be_dead(team: Team) -> None:
    """Whoever is killed in a call leaves what it had set aside, and no word."""
    team.costs.set_terms({"budget_usd": 0.06})
    await Spending(team, "w2", RUN_OF["w2"]).open(MODEL, 10_000, 1_000)
    hasty = Team(team.layout, team.settings.replace(budget_wait_seconds=0.0), team.clock)

    with pytest.raises(ModelError, match="is spent"):
        await Spending(hasty, "w1", RUN_OF["w1"]).open(MODEL, 10_000, 1_000)

    assert team.costs.table().is_short(RUN_OF["w1"])
