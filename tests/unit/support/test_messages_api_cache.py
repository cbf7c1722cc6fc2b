"""The prompt cache, against numbers that were computed by hand. A text of 4 letters is a token."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import anthropic
import pytest

from swarm.testing.wait import eventually
from tests.support.messages_api import MessagesApi, PromptCache, call, hold, reply
from tests.unit.support.asking import MODEL, TOOLS, ask, assistant, result, use, user

MARK = {"type": "ephemeral"}
LONG = {"type": "ephemeral", "ttl": "1h"}


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def words(tokens: int, letter: str = "x") -> dict[str, Any]:
    return {"type": "text", "text": letter * (4 * tokens)}


def marked(tokens: int, letter: str = "x", mark=MARK) -> dict[str, Any]:
    return {**words(tokens, letter), "cache_control": mark}


def row(count: int, *marks: int, tokens: int = 200) -> list[dict[str, Any]]:
    """Return so many blocks of one message, marked at these places (the first is 1)."""
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
    blocks = [words(tokens, letters[at]) for at in range(count)]
    return [{**b, "cache_control": MARK} if at in marks else b for at, b in enumerate(blocks, start=1)]


def body(*messages: Any, model: str = MODEL, **fields: Any) -> dict[str, Any]:
    return {"model": model, "max_tokens": 1, "messages": list(messages), **fields}


def pay(cache: PromptCache, request: dict[str, Any]) -> tuple[int, int, int]:
    """Return what this request reads, writes and pays in full; it is answered at once."""
    used = cache.look_up(request)
    cache.commit(used)
    counters = used.counters()
    names = ("cache_read_input_tokens", "cache_creation_input_tokens", "input_tokens")
    return counters[names[0]], counters[names[1]], counters[names[2]]


def test_a_prefix_is_written_once_and_read_afterwards() -> None:
    cache = PromptCache()
    first = body(user(words(50)), system=[marked(1500)])

    assert pay(cache, first) == (0, 1500, 50)
    assert pay(cache, body(user(words(70, "y")), system=[marked(1500)])) == (1500, 0, 70)


def test_without_a_mark_nothing_is_kept() -> None:
    cache = PromptCache()

    assert pay(cache, body(user(words(2000)))) == (0, 0, 2000)
    assert pay(cache, body(user(words(2000)))) == (0, 0, 2000)


@pytest.mark.parametrize(("tokens", "written"), [(1023, 0), (1024, 1024)])
def test_a_short_prefix_is_not_kept(tokens, written) -> None:
    cache = PromptCache()

    assert pay(cache, body(user(marked(tokens)))) == (0, written, tokens - written)
    assert pay(cache, body(user(marked(tokens)))) == (written, 0, tokens - written)


def test_the_shortest_prefix_depends_on_the_model() -> None:
    cache = PromptCache(minimum={"small": 512, "large": 4096})

    assert pay(cache, body(user(marked(600)), model="small")) == (0, 600, 0)
    assert pay(cache, body(user(marked(4095)), model="large")) == (0, 0, 4095)
    assert pay(cache, body(user(marked(1023)), model="other")) == (0, 0, 1023)
    assert pay(PromptCache(minimum=10), body(user(marked(10)))) == (0, 10, 0)


def test_a_conversation_that_grows_pays_only_for_what_is_new() -> None:
    """System 1000, first question 100, answer 40, second question 60."""
    cache = PromptCache()
    system = [words(1000)]
    first = body(user(marked(100)), system=system)
    second = body(user(words(100)), assistant(words(40)), user(marked(60)), system=system)

    assert pay(cache, first) == (0, 1100, 0)
    assert pay(cache, second) == (1100, 100, 0)
    assert pay(cache, second) == (1200, 0, 0)


def test_the_window_is_twenty_blocks_from_the_mark() -> None:
    """The example of the documentation: 10 blocks, 15, then 35, where the entry at 15 is out of sight."""
    cache = PromptCache()

    assert pay(cache, body(user(*row(10, 10)))) == (0, 2000, 0)
    assert pay(cache, body(user(*row(15, 15)))) == (2000, 1000, 0)
    assert pay(cache, body(user(*row(35, 35)))) == (0, 7000, 0)


def test_the_longest_prefix_that_is_found_is_read() -> None:
    cache = PromptCache()
    pay(cache, body(user(*row(15, 6, 15))))

    assert pay(cache, body(user(*row(16, 6, 16)))) == (3000, 200, 0)


def test_a_mark_inside_of_a_result_is_one_on_the_result() -> None:
    inner = {**words(1500), "cache_control": MARK}
    request = body(user(words(10)), assistant(use("c0")), user(result("c0", [inner])))
    marked_outside = {**result("c0", [words(1500)]), "cache_control": MARK}
    cache = PromptCache()

    read, written, rest = pay(cache, request)
    assert (read, rest) == (0, 0)
    assert 10 + 14 + 1500 < written < 10 + 14 + 1500 + 25
    again = body(user(words(10)), assistant(use("c0")), user(marked_outside))
    assert pay(cache, again) == (written, 0, 0)


def test_the_last_block_of_the_window_is_seen() -> None:
    cache = PromptCache()
    pay(cache, body(user(*row(15, 15))))

    assert pay(cache, body(user(*row(34, 34)))) == (3000, 3800, 0)


def test_a_second_mark_opens_a_second_window() -> None:
    cache = PromptCache()
    pay(cache, body(user(*row(15, 15))))

    assert pay(cache, body(user(*row(35, 15, 35)))) == (3000, 4000, 0)


def test_a_second_mark_in_between_finds_what_is_behind_it() -> None:
    cache = PromptCache()
    pay(cache, body(user(*row(10, 10))))

    assert pay(cache, body(user(*row(45, 25, 45)))) == (2000, 7000, 0)


def test_nothing_is_kept_before_the_mark() -> None:
    """The common mistake: the mark is on what changes each time."""
    cache = PromptCache()
    system = [words(2000)]

    assert pay(cache, body(user(marked(10, "a")), system=system)) == (0, 2010, 0)
    assert pay(cache, body(user(marked(10, "b")), system=system)) == (0, 2010, 0)


@pytest.mark.parametrize("once", [False, True])
def test_calls_side_by_side_may_count_as_one(once) -> None:
    """1 text, 22 calls of 14 tokens, 22 results of 15: 45 blocks, or 3 positions.

    A call is `{"type":"tool_use","id":"c0","name":"Read","input":{}}`, which is 54 letters.
    """
    cache = PromptCache(runs_count_once=once)
    ids = [f"c{n}" for n in range(22)]
    calls, results = [use(i) for i in ids], [result(i) for i in ids]
    pay(cache, body(user(marked(2000))))
    later = body(
        user(words(2000)), assistant(*calls), user(*results[:-1], {**results[-1], "cache_control": MARK})
    )

    assert pay(cache, later) == ((2000, 638, 0) if once else (0, 2638, 0))


@pytest.mark.parametrize(
    ("ttl", "seconds", "hit"),
    [(MARK, 299.9, True), (MARK, 300, False), (LONG, 3599, True), (LONG, 3600, False)],
)
def test_an_entry_lives_as_long_as_was_asked(ttl, seconds, hit) -> None:
    clock = Clock()
    cache = PromptCache(clock=clock)
    request = body(user(marked(2000, mark=ttl)))
    pay(cache, request)

    clock.now += seconds

    assert pay(cache, request) == ((2000, 0, 0) if hit else (0, 2000, 0))


def test_reading_makes_an_entry_young_again() -> None:
    clock = Clock()
    cache = PromptCache(clock=clock)
    request = body(user(marked(2000)))
    pay(cache, request)
    for _ in range(5):
        clock.now += 200
        assert pay(cache, request) == (2000, 0, 0)


def test_the_life_of_an_entry_begins_with_the_request() -> None:
    clock = Clock()
    cache = PromptCache(clock=clock)
    request = body(user(marked(2000)))
    used = cache.look_up(request)
    clock.now += 290
    cache.commit(used)
    clock.now += 10

    assert pay(cache, request) == (0, 2000, 0)


def test_an_entry_can_be_read_only_when_the_answer_has_begun() -> None:
    cache = PromptCache()
    request = body(user(marked(2000)))
    first, second = cache.look_up(request), cache.look_up(request)

    assert first.counters() == second.counters()
    cache.commit(first)
    assert cache.look_up(request).read == 2000


def test_both_lives_in_one_request_are_paid_each_at_its_price() -> None:
    """System 1500 for an hour, the message 300 for five minutes."""
    cache = PromptCache()
    used = cache.look_up(body(user(marked(300)), system=[marked(1500, mark=LONG)]))
    cache.commit(used)
    assert (used.written_1h, used.written_5m, used.rest) == (1500, 300, 0)

    used = cache.look_up(body(user(marked(400, "y"), words(7)), system=[marked(1500, mark=LONG)]))
    assert (used.read, used.written_1h, used.written_5m, used.rest) == (1500, 0, 400, 7)


def test_the_hour_outlives_the_five_minutes() -> None:
    clock = Clock()
    cache = PromptCache(clock=clock)
    request = body(user(marked(300)), system=[marked(1500, mark=LONG)])
    pay(cache, request)
    clock.now += 600

    assert pay(cache, request) == (1500, 300, 0)


def test_a_short_mark_on_a_long_entry_leaves_it_long() -> None:
    clock = Clock()
    cache = PromptCache(clock=clock)
    pay(cache, body(user(marked(2000, mark=LONG))))
    assert pay(cache, body(user(marked(2000)))) == (2000, 0, 0)
    clock.now += 600

    assert pay(cache, body(user(marked(2000)))) == (2000, 0, 0)


TOOL = {"name": "Read", "description": "r" * 6000, "input_schema": {"type": "object", "properties": {}}}
BASE = body(user(marked(100)), system=[words(1500)], tools=[TOOL])


@pytest.mark.parametrize(
    "change",
    [
        {"model": "claude-test-2"},
        {"tools": [{**TOOL, "description": "r" * 5999}]},
        {"tools": [TOOL, {**TOOL, "name": "Bash"}]},
        {"tools": [dict(reversed(TOOL.items()))]},
        {"system": [words(1500, "y")]},
        {"system": [words(1499), words(1)]},
        {"thinking": {"type": "adaptive"}},
        {"tool_choice": {"type": "any"}},
        {"output_config": {"effort": "low"}},
        {"messages": [assistant(marked(100))]},
    ],
    ids=str,
)
def test_any_change_in_the_prefix_is_another_prefix(change) -> None:
    cache = PromptCache()
    pay(cache, BASE)

    assert pay(cache, {**BASE, **change})[0] == 0
    assert pay(cache, BASE)[1] == 0


@pytest.mark.parametrize("change", [{"max_tokens": 99}, {"stream": True}, {"metadata": {"user_id": "u"}}])
def test_what_the_model_does_not_read_changes_nothing(change) -> None:
    cache = PromptCache()
    written = pay(cache, BASE)[1]

    assert pay(cache, {**BASE, **change}) == (written, 0, 0)


def test_a_tool_change_leaves_nothing_of_the_system_prompt_while_a_message_does() -> None:
    cache = PromptCache()
    request = body(user(marked(100)), system=[marked(2000)], tools=[TOOL])
    tools_and_system = sum(pay(cache, request)) - 100

    assert pay(cache, {**request, "messages": [user(marked(90, "y"))]}) == (tools_and_system, 90, 0)
    assert pay(cache, {**request, "tools": []})[0] == 0


def test_a_mark_at_the_top_falls_on_the_last_block_that_can_have_one() -> None:
    cache = PromptCache()
    thought = {"type": "thinking", "thinking": "Hm.", "signature": "s"}
    first = body(user(words(1200)), cache_control=MARK)
    second = body(user(words(1200)), assistant(words(30), thought), cache_control=MARK)

    assert pay(cache, first) == (0, 1200, 0)
    read, written, rest = pay(cache, second)
    assert (read, written) == (1200, 30)
    assert rest > 0


async def test_the_usage_of_a_stream_tells_it() -> None:
    with MessagesApi(["Hi", "Ho"]) as api:
        first = await ask(api, user(marked(1500, mark=LONG)))
        second = await ask(api, user(words(1500)), first.message, user(marked(40)))

    start = first.events[0]["message"]["usage"]
    assert start["cache_creation"] == {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 1500}
    assert (start["input_tokens"], start["cache_creation_input_tokens"]) == (0, 1500)
    assert (second.usage["cache_read_input_tokens"], second.usage["cache_creation_input_tokens"]) == (
        1500,
        41,
    )
    assert [exchange.marks for exchange in api.exchanges] == [
        ["messages.0.content.0 1h"],
        ["messages.2.content.0 5m"],
    ]


async def test_an_answer_that_is_held_has_written_nothing_yet() -> None:
    gate = threading.Event()
    with MessagesApi([reply("slow").but(hold(gate)), "quick", "later"]) as api:
        slow = asyncio.create_task(ask(api, user(marked(1500))))
        await eventually(lambda: api.in_flight == 1, what="it is asked")
        assert (await ask(api, user(marked(1500)))).usage["cache_creation_input_tokens"] == 1500
        gate.set()
        await slow
        assert (await ask(api, user(marked(1500)))).usage["cache_read_input_tokens"] == 1500


async def test_a_prefix_that_changed_is_named() -> None:
    with MessagesApi([reply(call("Read")), "b", "c", "d"]) as api:
        first = await ask(api, user("go", marked(10)), system=[words(3)], tools=TOOLS)
        results = user({**result(first.blocks[0]["id"]), "cache_control": MARK})
        await ask(api, user("go", words(10)), first.message, results, system=[words(3)])
        assert api.prefix_breaks() == []

        await ask(api, user("go", words(11)), first.message, results, system=[words(3)])
        await ask(
            api, user("go", words(11)), first.message, results, system=[words(3)], tool_choice={"type": "any"}
        )

    found = [(b.earlier, b.later, b.where) for b in api.prefix_breaks()]
    assert found == [(2, 3, "messages.0.content.1"), (3, 4, "settings")]


async def test_a_request_that_is_refused_is_no_part_of_a_conversation() -> None:
    with MessagesApi(["a", "b"]) as api:
        await ask(api, user("go", marked(10)))
        with pytest.raises(anthropic.BadRequestError):
            await ask(api, user("go", words(11)), assistant("a"), user(""))
        await ask(api, user("go", words(10)), assistant("a"), user("on"))

    assert (len(api.refused), api.prefix_breaks()) == (1, [])


async def test_a_new_attempt_begins_a_new_conversation() -> None:
    with MessagesApi(["a", "b"]) as api:
        await ask(api, user("go"), assistant("a"), user(marked(10)))
        await ask(api, user("go"), system="changed")

    assert api.prefix_breaks() == []
