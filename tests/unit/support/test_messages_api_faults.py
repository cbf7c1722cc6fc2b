"""Everything that can go wrong, as the SDK sees it."""

from __future__ import annotations

import asyncio
import threading
import time

import anthropic
import httpx2
import pytest

from swarm.testing.wait import eventually
from tests.support.messages_api import (
    BEFORE_HEAD,
    MessagesApi,
    call,
    close,
    cut,
    error_event,
    event_types,
    hold,
    http_error,
    odd_event,
    reply,
    reset,
    stall,
    text,
)
from tests.unit.support.asking import ask, ask_by, client_of, open_stream

STATUSES = [
    (400, anthropic.BadRequestError, "invalid_request_error"),
    (401, anthropic.AuthenticationError, "authentication_error"),
    (403, anthropic.PermissionDeniedError, "permission_error"),
    (404, anthropic.NotFoundError, "not_found_error"),
    (413, anthropic.RequestTooLargeError, "request_too_large"),
    (429, anthropic.RateLimitError, "rate_limit_error"),
    (500, anthropic.InternalServerError, "api_error"),
    (529, anthropic.OverloadedError, "overloaded_error"),
]


@pytest.mark.parametrize(("status", "error", "name"), STATUSES)
async def test_a_status_comes_in_the_envelope_of_the_service(status, error, name) -> None:
    with MessagesApi([http_error(status, "No, thanks."), "well"]) as api:
        with pytest.raises(error) as caught:
            await ask(api, "go")
        await ask(api, "go")

    body = caught.value.body
    assert body == {
        "type": "error",
        "error": {"type": name, "message": "No, thanks."},
        "request_id": caught.value.request_id,
    }
    assert (api.exchanges[0].status, api.exchanges[0].error) == (status, name)
    assert api.refused == []


async def test_the_service_may_say_when_to_come_back() -> None:
    both = http_error(429, retry_after=1.5, retry_after_ms=20)
    with MessagesApi([both, http_error(529, retry_after="Wed, 21 Oct 2026 07:28:00 GMT")]) as api:
        with pytest.raises(anthropic.RateLimitError) as caught:
            await ask(api, "go")
        headers = caught.value.response.headers
        assert (headers["retry-after"], headers["retry-after-ms"]) == ("1.5", "20")
        with pytest.raises(anthropic.OverloadedError) as later:
            await ask(api, "go")
        assert later.value.response.headers["retry-after"].startswith("Wed")


async def test_the_sdk_itself_comes_back_when_it_may() -> None:
    """The header is one that the SDK understands."""
    with MessagesApi([http_error(429, retry_after_ms=1), "well"]) as api:
        async with client_of(api, max_retries=1) as client:
            assert (await ask_by(client, "go")).blocks == [text("well")]

    assert [e.headers["x-stainless-retry-count"] for e in api.exchanges] == ["0", "1"]


@pytest.mark.parametrize("after", [0, 1, 3])
@pytest.mark.parametrize("kind", ["overloaded_error", "api_error", "rate_limit_error"])
async def test_an_error_can_come_inside_of_a_stream(kind, after) -> None:
    with MessagesApi([reply("Hello").but(error_event(kind, "Sorry", after=after))]) as api:
        came = await ask(api, "go")
        assert len(came.types) == after + 1
        assert came.events[-1]["error"] == {"type": kind, "message": "Sorry"}

    with MessagesApi([reply("Hello").but(error_event(kind, after=after))]) as api:
        async with client_of(api) as client:
            with pytest.raises(anthropic.APIStatusError, match=kind):
                async for _ in await open_stream(client, "go"):
                    pass
    assert not api.exchanges[0].whole
    assert api.dropped == []


async def test_a_stream_can_end_without_its_end() -> None:
    with MessagesApi([reply("Hello").but(close(3))]) as api:
        came = await ask(api, "go")

    assert came.types == event_types(reply("Hello"))[:3]
    assert (api.exchanges[0].events_sent, api.exchanges[0].whole) == (3, False)


@pytest.mark.parametrize(
    ("fault", "error"), [(cut, httpx2.RemoteProtocolError), (reset, httpx2.ReadError)], ids=["cut", "reset"]
)
@pytest.mark.parametrize("after", [0, 2])
async def test_a_connection_can_break_inside_of_a_stream(fault, error, after) -> None:
    with MessagesApi([reply("Hello").but(fault(after)), "well"]) as api:
        async with client_of(api) as client:
            stream = await open_stream(client, "go")
            events = stream.raw_events(stream.response)
            came = [(await anext(events)).event for _ in range(after)]
            with pytest.raises(error):
                await anext(events)
            assert (await ask_by(client, "go")).blocks == [text("well")]

    assert came == event_types(reply("Hello"))[:after]


async def test_a_connection_can_break_before_the_head() -> None:
    with MessagesApi([reply("Hello").but(reset(BEFORE_HEAD)), reply("Hello").but(cut(BEFORE_HEAD))]) as api:
        for _ in range(2):
            with pytest.raises(anthropic.APIConnectionError):
                await ask(api, "go")
    assert api.dropped == []


async def test_a_fault_can_wait_for_whole_blocks() -> None:
    """So a tool has been started when the stream breaks."""
    with MessagesApi([reply("Looking.", call("Read", {"a": 1}), call("Bash")).but(close(blocks=2))]) as api:
        came = await ask(api, "go")

    assert came.types.count("content_block_stop") == 2
    assert came.types[-1] == "content_block_stop"
    assert came.blocks[1]["input"] == {"a": 1}


async def test_a_fault_after_a_block_comes_once() -> None:
    with MessagesApi([reply("a", "b").but(odd_event({"type": "odd"}, blocks=1))]) as api:
        came = await ask(api, "go")

    assert came.types.count("odd") == 1
    assert came.types[came.types.index("odd") - 1] == "content_block_stop"


async def test_a_stream_can_stand_still_in_silence() -> None:
    with MessagesApi([reply("Hello").but(stall(0.3, 2))]) as api:
        begun = time.monotonic()
        came = await ask(api, "go")
        assert time.monotonic() - begun >= 0.3

    assert came.types == event_types(reply("Hello"))


async def test_a_stream_can_stand_still_with_pings() -> None:
    with MessagesApi([reply("Hello").but(stall(0.3, 2, ping_every=0.05))]) as api:
        came = await ask(api, "go")

    assert 1 <= came.types.count("ping") - 1 <= 7
    assert came.blocks == [text("Hello")]


async def test_a_client_that_waits_no_longer_is_noticed() -> None:
    with MessagesApi([reply("Hello").but(stall(30, 2))]) as api:
        async with client_of(api, timeout=0.2) as client:
            with pytest.raises(httpx2.ReadTimeout):
                await ask_by(client, "go")
        await eventually(lambda: api.dropped, what="the server notices")
        assert api.in_flight == 0


async def test_a_stream_can_be_slow() -> None:
    answer = reply("Hello", event_delay=0.03)
    with MessagesApi([answer]) as api:
        begun = time.monotonic()
        await ask(api, "go")
        assert time.monotonic() - begun >= 0.03 * len(event_types(answer))


async def test_answers_can_be_held_and_calls_are_counted() -> None:
    gate = threading.Event()
    with MessagesApi([reply("Hello").but(hold(gate)), reply("Hello").but(hold(gate, 2)), "three"]) as api:
        asked = [asyncio.create_task(ask(api, "go")) for _ in range(2)]
        await eventually(lambda: api.in_flight == 2, what="both are asked")
        assert (await ask(api, "go")).blocks == [text("three")]
        assert not any(task.done() for task in asked)
        gate.set()
        assert [answer.blocks for answer in await asyncio.gather(*asked)] == [[text("Hello")]] * 2
        await eventually(lambda: api.in_flight == 0, what="all are answered")
        assert api.most_in_flight == 3


async def test_many_may_ask_at_the_same_time() -> None:
    gate = threading.Event()
    with MessagesApi(lambda exchange: reply(str(exchange.body["messages"])).but(hold(gate, 2))) as api:
        asked = [asyncio.create_task(ask(api, f"go {n}")) for n in range(20)]
        await eventually(lambda: api.in_flight == 20, what="all are asked")
        gate.set()
        said = [answer.blocks[0]["text"] for answer in await asyncio.gather(*asked)]
        assert [f"'go {n}'" in text for n, text in enumerate(said)] == [True] * 20
        assert sorted(e.number for e in api.exchanges) == list(range(1, 21))
        assert api.problems == []


async def test_a_call_that_is_cancelled_is_dropped() -> None:
    with MessagesApi([reply("Hello").but(hold(threading.Event(), 2)), "well"]) as api:
        asked = asyncio.create_task(ask(api, "go"))
        await eventually(lambda: api.exchanges and api.exchanges[0].events_sent == 2, what="it is under way")
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
        await eventually(lambda: [e.number for e in api.dropped] == [1], what="the server notices")
        await ask(api, "go")
        assert [e.number for e in api.dropped] == [1]


async def test_the_server_ends_while_answers_are_held() -> None:
    begun = time.monotonic()
    with MessagesApi([reply("Hello").but(hold(threading.Event()))]) as api:
        asked = asyncio.create_task(ask(api, "go"))
        await eventually(lambda: api.in_flight == 1, what="it is asked")
    with pytest.raises(anthropic.APIConnectionError):
        await asked
    assert time.monotonic() - begun < 5
    assert (api.problems, api.dropped) == ([], [])


async def test_a_reader_who_stops_at_the_last_event_drops_nothing() -> None:
    with MessagesApi(["Hello"]) as api:
        async with client_of(api) as client:
            stream = await open_stream(client, "go")
            async for event in stream.raw_events(stream.response):
                if event.event == "message_stop":
                    break
            await stream.close()
        await eventually(lambda: api.in_flight == 0, what="it is over")

    assert api.dropped == []
