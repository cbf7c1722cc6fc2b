"""An answer is put together from its events, byte for byte, however they were cut."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.messages import UNPARSED
from worker.model.assembly import Assembly, BrokenAnswerError
from worker.model.port import BlockDone, TextDelta

START = {"type": "message_start", "message": {"id": "m1", "model": "claude-x", "usage": {"input_tokens": 7}}}
STOP: list[dict[str, Any]] = [
    {
        "type": "message_delta",
        "delta": {"stop_reason": "end_turn"},
        "usage": {"output_tokens": 3, "cache_read_input_tokens": None},
    },
    {"type": "message_stop"},
]
VALUES = st.recursive(st.none() | st.integers() | st.text(max_size=9), st.lists)


def block_events(index: int, block: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"type": "content_block_start", "index": index, "content_block": block},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def text_events(index: int, *pieces: str) -> list[dict[str, Any]]:
    deltas = [{"type": "text_delta", "text": piece} for piece in pieces]
    return block_events(index, {"type": "text", "text": ""}, *deltas)


def call_events(index: int, *pieces: str) -> list[dict[str, Any]]:
    deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
    return block_events(index, {"type": "tool_use", "id": f"t{index}", "name": "Read", "input": {}}, *deltas)


def feed_all(assembly: Assembly, events: Iterable[dict[str, Any]]) -> None:
    for event in events:
        assembly.feed(event)


def fed(*events: dict[str, Any]) -> Assembly:
    assembly = Assembly()
    feed_all(assembly, events)
    return assembly


def content_of(*events: dict[str, Any]) -> list[dict[str, Any]]:
    turn = fed(START, *events, *STOP).turn()
    content: list[dict[str, Any]] = turn.message["content"]
    return content


def test_text_is_told_as_it_comes_and_as_a_block_at_its_end() -> None:
    assembly = fed(START)

    news = [one for event in text_events(0, "Hel", "", "lo") for one in assembly.feed(event)]

    assert news == [
        TextDelta(text="Hel"),
        TextDelta(text="lo"),
        BlockDone(block={"type": "text", "text": "Hello"}),
    ]


def test_a_turn_has_its_blocks_reason_model_and_counters() -> None:
    turn = fed(START, *text_events(0, "Hello"), *STOP).turn()

    assert turn.message == {"role": "assistant", "content": [{"type": "text", "text": "Hello"}]}
    assert (turn.stop_reason, turn.model) == ("end_turn", "claude-x")
    assert turn.usage == {
        "input_tokens": 7,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "output_tokens": 3,
    }


def test_thoughts_are_kept_with_their_signature() -> None:
    """Sent back with one byte changed they are refused."""
    thought = block_events(
        0,
        {"type": "thinking", "thinking": "", "signature": "", "new_field": 1},
        {"type": "thinking_delta", "thinking": "first \n"},
        {"type": "thinking_delta", "thinking": " then"},
        {"type": "signature_delta", "signature": "EqQB=="},
    )
    hidden = block_events(1, {"type": "redacted_thinking", "data": "xyz"})

    assert content_of(*thought, *hidden) == [
        {"type": "thinking", "thinking": "first \n then", "signature": "EqQB==", "new_field": 1},
        {"type": "redacted_thinking", "data": "xyz"},
    ]


@given(
    st.dictionaries(
        st.text(max_size=5), st.recursive(st.none() | st.integers() | st.text(max_size=9), st.lists)
    ),
    st.lists(st.integers(0, 400), max_size=6),
    st.booleans(),
)
def test_the_input_of_a_call_is_the_same_wherever_it_was_cut(
    given_input: dict[str, Any], cuts: list[int], ascii_only: bool
) -> None:
    raw = json.dumps(given_input, ensure_ascii=ascii_only)
    places = sorted({0, len(raw), *(cut % (len(raw) + 1) for cut in cuts)})
    pieces = [raw[a:b] for a, b in itertools.pairwise(places)]

    (block,) = content_of(*call_events(0, *pieces))

    assert block == {"type": "tool_use", "id": "t0", "name": "Read", "input": given_input}


@pytest.mark.parametrize("raw", ['{"a": ', '{"a": 1}}', "[1]", "nonsense", '{"a": NaN}', '"text"'])
def test_an_input_that_is_no_object_is_kept_as_such(raw: str) -> None:
    """An object must be sent back; a tool that is called with this refuses it."""
    (block,) = content_of(*call_events(0, raw))

    assert block["input"] == {UNPARSED: raw}


@pytest.mark.parametrize("pieces", [(), ("",), (" ",)])
def test_a_call_without_input_has_an_empty_one(pieces: tuple[str, ...]) -> None:
    assert content_of(*call_events(0, *pieces))[0]["input"] == {}


def test_halves_of_a_character_are_put_together_and_lone_ones_replaced() -> None:
    """What cannot be written as UTF-8 could not be sent back."""
    (text,) = content_of(*text_events(0, "a\ud83d", "\ude00b", "\ud83d"))
    (call,) = content_of(*call_events(0, '{"p": "\\ud83d"}'))

    assert text["text"] == "a😀b\ufffd"
    assert call["input"] == {"p": "\ufffd"}


def test_blocks_are_in_the_order_of_their_numbers() -> None:
    late, early = text_events(1, "two"), text_events(0, "one")
    mixed = [late[0], early[0], *late[1:], *early[1:]]

    assert [block["text"] for block in content_of(*mixed)] == ["one", "two"]


def test_what_is_not_known_is_passed_over() -> None:
    odd = [{"type": "weather"}, *block_events(0, {"type": "text", "text": "x"}, {"type": "mood_delta"})]

    assert content_of(*odd) == [{"type": "text", "text": "x"}]


@pytest.mark.parametrize(
    "events",
    [
        [*text_events(0, "before the start")],
        [START, {"type": "content_block_delta", "index": 4, "delta": {"type": "text_delta", "text": "x"}}],
        [START, {"type": "content_block_stop", "index": 0}],
        [START, *text_events(0, "x"), *text_events(0, "again")],
        [START, text_events(0, "x")[0], STOP[1]],
        [START, *text_events(0, "no reason"), STOP[1]],
        [START, {"type": "content_block_start", "index": 0}],
        [START, {"type": "content_block_start", "index": 0, "content_block": {"type": "text"}}, {"index": 0}],
        [{"type": "message_start"}],
        [{"type": "message_stop"}],
    ],
)
def test_events_that_make_no_sense_break_the_answer(events: list[dict[str, Any]]) -> None:
    assembly = Assembly()

    with pytest.raises(BrokenAnswerError):
        feed_all(assembly, events)

    assert not assembly.is_complete


def test_it_is_complete_only_after_the_last_event() -> None:
    assembly = fed(START, *text_events(0, "x"), STOP[0])
    assert not assembly.is_complete

    assembly.feed(STOP[1])

    assert assembly.is_complete
    assert assembly.received_chars == 1


@pytest.mark.parametrize("depth", [200, 900, 100_000])
def test_an_input_that_is_nested_too_deeply_is_no_input(depth: int) -> None:
    """To copy or check it would exhaust the stack."""
    raw = '{"a": ' * depth + "1" + "}" * depth

    assert content_of(*call_events(0, raw))[0]["input"] == {UNPARSED: raw}


def test_ordinary_nesting_is_kept() -> None:
    raw = '{"a": ' * 50 + "1" + "}" * 50

    assert content_of(*call_events(0, raw))[0]["input"] == json.loads(raw)


def test_a_name_that_cannot_be_written_is_mended_too() -> None:
    start = {"type": "tool_use", "id": "t\ud83d", "name": "Re\ud83dad", "input": {"a\udc00": "b"}}

    (block,) = content_of(*block_events(0, start))

    assert json.dumps(block, ensure_ascii=False).encode()
    assert (block["name"], block["input"]) == ("Re\ufffdad", {"a\ufffd": "b"})
