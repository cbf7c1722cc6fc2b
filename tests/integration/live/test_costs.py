"""What calls cost is booked as the service charges it, and no budget is exceeded."""

from __future__ import annotations

import random
from typing import Any

import pytest

from swarm.core.money import micros_of
from swarm.core.price import cost_of, usage_of
from swarm.pricing import price_of
from tests.integration.live.conftest import MODEL, Make, one_session
from tests.support.live_team import LiveTeam
from tests.support.messages_api import (
    Exchange,
    MessagesApi,
    Reply,
    call,
    close,
    error_event,
    http_error,
    reply,
    thinking,
)

pytestmark = pytest.mark.timeout(120)

WORKERS = [f"w{number}" for number in range(8)]
BUDGET = 1.0


def charged(api: MessagesApi) -> int:
    """Return what the service would put on the bill, in millionths of a dollar."""
    price = price_of(MODEL, {})
    assert price is not None
    return sum(cost_of(usage_of(exchange.usage), price) for exchange in api.exchanges if exchange.usage)


def telling(team: LiveTeam, api: MessagesApi) -> dict[str, Any]:
    environ = {**team.environ, "ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": api.url}
    return {"model": MODEL, "environ": environ}


async def test_each_call_is_booked_as_it_was_charged(make: Make) -> None:
    team = make({"key": "job", "subject": "Do the job", "script": [{"say": "x"}]})
    turns = [reply(call("Bash", {"command": "seq 300"})) for _ in range(5)]

    with MessagesApi([*turns, http_error(529), reply("All done.")]) as api:
        await one_session(team, api)

    table = team.team.costs.table()
    assert table.spent == charged(api)
    assert table.reserved == 0


async def test_eight_that_share_a_budget_do_not_exceed_it(make: Make) -> None:
    """Whatever breaks, and however many ask at once; who cannot go on gives its task back and says why."""
    tasks = [{"key": f"t{n}", "subject": f"Task {n}", "script": [{"say": "x"}]} for n in range(40)]
    team = make(*tasks, teammates=[{"name": name} for name in WORKERS])
    team.team.costs.set_terms({"budget_usd": BUDGET})
    chance = random.Random(7)

    def turn(exchange: Exchange) -> Reply:
        if exchange.turns >= 3:
            return reply("All done.")
        looked = reply(thinking("hm " * 20), call("Glob", {"pattern": "*"}))
        said = reply("Let me see what there is to do here, and think about it for a while.")
        broken = [http_error(529), said.but(error_event(after=4)), said.but(close(after=5))]
        return chance.choice([looked, looked, looked, *broken])

    with MessagesApi(turn) as api:
        for name in WORKERS:
            team.start(name, **telling(team, api))

        def all_rest() -> bool:
            records = [team.team.agents.load(name) for name in WORKERS]
            return all(one is not None and one.reason == "budget_spent" for one in records)

        await team.until(all_rest, "nobody can pay for another call", timeout=60)
        await team.stop()

    table = team.team.costs.table()
    assert charged(api) <= table.spent <= micros_of(BUDGET)
    assert charged(api) > 0
    left = [task for task in team.tasks() if task.status == "pending"]
    assert left
    assert all(task.attempts == 0 for task in left)
    assert any("USD" in str(task.reason) or "$" in str(task.reason) for task in left)
