"""What a stream brings, event by event."""

from __future__ import annotations

import json

import pytest
from anthropic.types import ToolUseBlock

from tests.support.messages_api import (
    MessagesApi,
    call,
    event_types,
    odd_event,
    redacted,
    reply,
    text,
    thinking,
)
from tests.support.messages_api.stream import packets, pieces
from tests.unit.support.asking import ask, ask_by, body_of, client_of, open_stream

_CALL_FIELDS = {"type", "id", "name", "input", "caller"}
ODD = 'Line\n"quoted" \\ back\t é 漢字 😀 \u2028 \x7f\x01'


async def test_the_blocks_arrive_as_they_were_planned() -> None:
    planned = [
        thinking(f"Hm: {ODD}"),
        redacted("c2VjcmV0"),
        text(ODD),
        call("Read", {"file_path": ODD, "limit": 3, "deep": {"of": [1, None, True]}}),
        call("Bash", {"command": ODD}, call_id="toolu_mine"),
        call("Read"),
    ]
    with MessagesApi([reply(*planned)]) as api:
        answer = await ask(api, "go")

    thought, hidden, said, *calls = answer.blocks
    assert (thought["thinking"], hidden, said) == (planned[0]["thinking"], planned[1], planned[2])
    assert [c["input"] for c in calls] == [c["input"] for c in planned[3:]]
    assert [c["id"] for c in calls] == ["toolu_0001_4", "toolu_mine", "toolu_0001_6"]
    assert {json.dumps(c["caller"]) for c in calls} == {'{"type": "direct"}'}
    assert len(thought["signature"]) > 100
    assert answer.stop_reason == "tool_use"


async def test_the_events_come_in_the_order_of_the_documentation() -> None:
    answer = reply("Hi!", call("Read", {"a": 1}))
    with MessagesApi([answer]) as api:
        came = await ask(api, "go")

    deltas = [t for t in came.types if t != "content_block_delta"]
    assert deltas == [
        "message_start",
        "content_block_start",
        "ping",
        "content_block_stop",
        "content_block_start",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]
    assert came.types == event_types(answer)
    start, block = came.events[0]["message"], came.events[1]
    assert (start["content"], start["stop_reason"], start["role"]) == ([], None, "assistant")
    assert (block["index"], block["content_block"]) == (0, {"type": "text", "text": ""})
    assert api.exchanges[0].whole
    partial = [e["delta"]["partial_json"] for e in came.events if e.get("index") == 1 and "delta" in e]
    assert (partial[0], "".join(partial)) == ("", '{"a":1}')


async def test_the_usage_grows_from_the_start_to_the_end() -> None:
    with MessagesApi([reply("x" * 40, call("Read", {"a": 1}))]) as api:
        came = await ask(api, "y" * 401)

    start = came.events[0]["message"]["usage"]
    assert (start["input_tokens"], start["output_tokens"]) == (101, 1)
    assert start["cache_creation_input_tokens"] == start["cache_read_input_tokens"] == 0
    assert came.events[-2]["usage"] == {
        "input_tokens": 101,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "output_tokens": 12,
    }
    assert api.exchanges[0].usage["output_tokens"] == 12


async def test_a_script_may_set_the_usage() -> None:
    with MessagesApi([reply("x", usage={"output_tokens": 77, "input_tokens": 5})]) as api:
        came = await ask(api, "go")

    assert (came.usage["output_tokens"], came.usage["input_tokens"]) == (77, 5)


@pytest.mark.parametrize(
    "reason", ["max_tokens", "refusal", "pause_turn", "model_context_window_exceeded", "stop_sequence"]
)
async def test_a_stream_may_stop_for_any_reason(reason) -> None:
    with MessagesApi([reply("x", stop_reason=reason)]) as api:
        came = await ask(api, "go")

    delta = came.events[-2]["delta"]
    assert delta["stop_reason"] == reason
    assert (delta["stop_details"] or {}).get("type") == ("refusal" if reason == "refusal" else None)


async def test_an_answer_may_be_empty_or_blank() -> None:
    with MessagesApi([reply(), reply(""), reply(" \n")]) as api:
        assert (await ask(api, "go")).blocks == []
        assert (await ask(api, "go")).blocks == [text("")]
        assert (await ask(api, "go")).blocks == [text(" \n")]


async def test_the_input_of_a_call_may_be_cut_off_or_broken() -> None:
    inputs = ['{"file_path": "a', '{"file_path": }']
    with MessagesApi([reply(call("Read", raw_input=i), stop_reason="max_tokens") for i in inputs]) as api:
        for expected in inputs:
            async with client_of(api) as client:
                stream = await open_stream(client, "go")
                events = [json.loads(event.data) async for event in stream.raw_events(stream.response)]
            deltas = [e["delta"] for e in events if e["type"] == "content_block_delta"]
            assert "".join(delta["partial_json"] for delta in deltas) == expected
            assert [e["type"] for e in events[-3:]] == ["content_block_stop", "message_delta", "message_stop"]
            assert events[-2]["delta"]["stop_reason"] == "max_tokens"
    assert [set(exchange.blocks[0]) for exchange in api.exchanges] == [_CALL_FIELDS] * 2


async def test_the_sdk_puts_the_same_message_together() -> None:
    with MessagesApi([reply(thinking("Hm."), ODD, call("Read", {"file_path": ODD}))] * 2) as api:
        async with client_of(api) as client:
            async with client.messages.stream(**body_of("go")) as stream:
                message = await stream.get_final_message()
            whole = await client.messages.create(**body_of("go"))

    for got in (message, whole):
        assert [block.type for block in got.content] == ["thinking", "text", "tool_use"]
        assert isinstance(got.content[2], ToolUseBlock)
        assert got.content[2].input == {"file_path": ODD}
        assert got.stop_reason == "tool_use"
    assert whole.usage.output_tokens == message.usage.output_tokens > 1
    assert api.refused == []


async def test_an_event_that_no_client_knows_can_come_in_between() -> None:
    odd = odd_event({"type": "new_thing", "data": 1}, after=2)
    with MessagesApi([reply("Hi").but(odd)]) as api:
        came = await ask(api, "go")

    assert came.types[2] == "new_thing"
    assert came.blocks == [text("Hi")]


async def test_non_ascii_input_comes_once_as_it_is_and_once_escaped() -> None:
    with MessagesApi([reply(call("Read", {"a": "é😀"}), call("Read", {"a": "é😀"}))]) as api:
        came = await ask(api, "go")

    sent = [
        "".join(e["delta"]["partial_json"] for e in came.events if e.get("index") == index and "delta" in e)
        for index in (0, 1)
    ]
    assert sent == ['{"a":"\\u00e9\\ud83d\\ude00"}', '{"a":"é😀"}']


async def test_one_connection_serves_many_requests() -> None:
    with MessagesApi(["a", "b", "c"]) as api:
        async with client_of(api) as client:
            said = [(await ask_by(client, "go")).blocks[0]["text"] for _ in range(3)]

    assert said == ["a", "b", "c"]


async def test_requests_are_recorded_as_they_came() -> None:
    with MessagesApi(["Hi"]) as api:
        async with client_of(api) as client:
            stream = await open_stream(client, "go", extra_headers={"X-Extra": "1"})
            await stream.close()

    (exchange,) = api.exchanges
    assert exchange.body == json.loads(exchange.raw) == body_of("go", stream=True)
    assert exchange.headers["x-extra"] == "1"
    assert (exchange.status, exchange.stop_reason, exchange.blocks) == (200, "end_turn", (text("Hi"),))
    assert exchange.finished is not None
    assert exchange.finished >= exchange.received


def test_json_is_cut_inside_of_escapes_and_beside_wide_characters() -> None:
    whole = '{"a":"é\\u00e9\\n"}'
    cut = pieces(whole)
    beginnings = {"".join(cut[:number]) for number in range(len(cut) + 1)}

    assert whole in beginnings
    assert {'{"a":"', '{"a":"é', '{"a":"é\\', '{"a":"é\\u', '{"a":"é\\u0', '{"a":"é\\u00e9\\'} <= beginnings


@pytest.mark.parametrize("content", ["", "a", "ab", "x" * 10_000])
def test_no_text_is_lost_by_cutting(content) -> None:
    cut = pieces(content)

    assert "".join(cut) == content
    assert all(cut)
    assert len(cut) < 30


def test_a_character_is_cut_on_the_wire() -> None:
    first, second = packets("data: é\n\n".encode())

    with pytest.raises(UnicodeDecodeError):
        first.decode()
    assert (first + second).decode() == "data: é\n\n"
