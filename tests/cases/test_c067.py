"""More than four cache marks were sent, and each retry was refused the same way."""

from __future__ import annotations

from pathlib import Path

from tests.integration.live.conftest import one_session
from tests.support.live_runs import all_blocks, live_team, work
from tests.support.messages_api import Exchange, MessagesApi, Reply, call, redacted, reply, text, thinking

TURNS = 20


def turn(exchange: Exchange) -> Reply:
    at = exchange.turns
    if at >= TURNS:
        return reply(thinking("all seen"), "All done.")
    if exchange.number % 7 == 3:
        return reply(thinking("nothing to say"))  # thoughts alone: no place for a mark
    calls = [call("Glob", {"pattern": f"*{number}"}) for number in range(5 if at % 3 == 0 else 1)]
    thoughts = [[], [thinking("hm")], [redacted(f"hidden {exchange.number}"), thinking("and\n")]][at % 3]
    return reply(*thoughts, *([text("Looking.")] if at % 2 else []), *calls)


async def test_every_request_has_one_to_four_marks_in_good_places(isolated_home: Path) -> None:
    team = live_team(isolated_home, work())

    with MessagesApi(turn) as api:
        outcome = await one_session(team, api)

    assert outcome is not None
    assert outcome.status == "completed", outcome.reason
    assert [exchange.message for exchange in api.refused] == []
    assert api.exchanges[-1].turns == TURNS
    for exchange in api.exchanges:
        assert 1 <= len(exchange.marks) <= 4, exchange.number
        blocks = [block for block in all_blocks(exchange.body) if "cache_control" in block]
        tools = [tool for tool in exchange.body["tools"] if "cache_control" in tool]
        assert len(blocks) + len(tools) == len(exchange.marks)
        for block in blocks:
            assert block["type"] in ("text", "tool_use", "tool_result")
            assert block["type"] != "text" or block["text"].strip()
            assert block["type"] != "tool_result" or str(block["content"]).strip()
    assert max(len(exchange.messages[-1]["content"]) for exchange in api.exchanges) >= 5
