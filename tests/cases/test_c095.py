"""Cache marks only on texts, so that each turn of tools paid the full price for the whole history."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

from tests.integration.live.conftest import one_session
from tests.support.live_runs import live_team, work
from tests.support.messages_api import Exchange, MessagesApi, Reply, call, reply, thinking

TURNS = 15
TIME_OF_DAY = re.compile(r"\b\d{1,2}:\d{2}:\d{2}\b")


def turn(exchange: Exchange) -> Reply:
    if exchange.turns >= TURNS:
        return reply("All done.")
    calls = [
        call("Bash", {"command": f"echo line {exchange.turns}.{number}"})
        for number in range(3 if exchange.turns % 5 == 4 else 1)
    ]
    return reply(thinking(f"turn {exchange.turns}"), *calls)


def unmarked(value: Any) -> Any:
    """Return the same without marks: they move on, and are no part of what is read from the cache."""
    if isinstance(value, dict):
        return {name: unmarked(one) for name, one in value.items() if name != "cache_control"}
    return [unmarked(one) for one in value] if isinstance(value, list) else value


def as_sent(value: Any) -> bytes:
    return json.dumps(unmarked(value), ensure_ascii=False).encode()


async def test_what_was_marked_stays_and_the_last_result_has_a_mark(isolated_home: Path) -> None:
    team = live_team(isolated_home, work())

    with MessagesApi(turn) as api:
        outcome = await one_session(team, api)

    assert outcome is not None
    assert outcome.status == "completed", outcome.reason
    assert len(api.exchanges) == TURNS + 1
    assert api.refused == []
    assert api.prefix_breaks() == []
    bodies = [exchange.body for exchange in api.exchanges]
    for earlier, later in pairwise(bodies):
        assert as_sent(earlier["tools"]) == as_sent(later["tools"])
        assert as_sent(earlier["system"]) == as_sent(later["system"])
        count = len(earlier["messages"])
        assert as_sent(earlier["messages"]) == as_sent(later["messages"][:count])
        last = later["messages"][-1]["content"][-1]
        assert last["type"] == "tool_result"
        assert "cache_control" in last
    assert not TIME_OF_DAY.search(json.dumps(bodies[0]))
    for exchange in api.exchanges[1:]:
        assert exchange.usage["cache_read_input_tokens"] > 0


async def test_nothing_of_it_is_of_one_session_only(isolated_home: Path) -> None:
    """What stands before the first message is the same in a next life, which reads what is kept of it."""
    team = live_team(isolated_home, work("a"), work("b"))

    with MessagesApi(lambda _: reply("All done.")) as api:
        await one_session(team, api)
        await one_session(team, api, life=2)

    first, second = (exchange.body for exchange in api.exchanges)
    assert as_sent(first["tools"]) == as_sent(second["tools"])
    assert as_sent(first["system"]) == as_sent(second["system"])
