"""What is sent: complete, the same bytes for the same conversation, and with marks where they pay."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

from worker.messages import Message, assistant_message, tool_result, tool_use, user_message, without_thoughts
from worker.model.port import ModelRequest
from worker.model.request import request_body, sent_bytes

TOOLS = [{"name": "Read", "description": "reads", "input_schema": {"type": "object"}}]
THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "s"}


def a_request(*messages: Message, system: tuple[str, ...] = ("common", "own")) -> ModelRequest:
    return ModelRequest(model="claude-x", system=system, messages=list(messages), tools=TOOLS, max_tokens=100)


def turn(number: int, calls: int = 1) -> tuple[Message, Message]:
    ids = [f"t{number}_{one}" for one in range(calls)]
    return (
        assistant_message(*(tool_use(one, "Read", {}) for one in ids)),
        user_message(*(tool_result(one, "x") for one in ids)),
    )


def unmarked(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: unmarked(one) for key, one in value.items() if key != "cache_control"}
    return [unmarked(one) for one in value] if isinstance(value, list) else value


def marks(body: dict[str, Any]) -> list[str]:
    found = [f"system {at}" for at, block in enumerate(body["system"]) if "cache_control" in block]
    for at, message in enumerate(body["messages"]):
        found += [f"message {at}" for block in message["content"] if "cache_control" in block]
    return found


def test_it_is_complete() -> None:
    body = request_body(a_request(user_message("go")))

    assert unmarked(body) == {
        "model": "claude-x",
        "max_tokens": 100,
        "system": [{"type": "text", "text": "common"}, {"type": "text", "text": "own"}],
        "tools": TOOLS,
        "messages": [{"role": "user", "content": [{"type": "text", "text": "go"}]}],
        "stream": True,
    }


def test_marks_stand_at_the_ends_of_what_stays() -> None:
    body = request_body(a_request(user_message("go"), *turn(1), *turn(2)))

    assert marks(body) == ["system 0", "system 1", "message 4"]


def test_after_a_turn_of_many_calls_the_last_mark_stays_within_reach() -> None:
    """A service looks back 20 blocks; further back it would not find what it has."""
    body = request_body(a_request(user_message("go"), *turn(1), *turn(2, calls=10)))

    assert marks(body) == ["system 0", "system 1", "message 2", "message 4"]


@pytest.mark.parametrize("turns", range(6))
def test_there_are_never_more_than_four(turns: int) -> None:
    messages = [message for number in range(turns) for message in turn(number, calls=30)]

    body = request_body(a_request(user_message("go"), *messages))

    assert 1 <= len(marks(body)) <= 4


def test_a_thought_is_never_marked() -> None:
    body = request_body(a_request(user_message("go"), assistant_message(THOUGHT)))

    assert marks(body) == ["system 0", "system 1"]


def test_each_request_begins_with_all_of_the_one_before() -> None:
    messages = [user_message("go"), *turn(1), *turn(2, calls=12), *turn(3)]
    bodies = [
        json.dumps(unmarked(request_body(a_request(*messages[:end])))["messages"])[:-1]
        for end in (1, 3, 5, 7)
    ]

    for before, after in itertools.pairwise(bodies):
        assert after.startswith(before)


def test_the_conversation_itself_is_not_marked() -> None:
    """The same blocks go into the next request, where the mark is elsewhere."""
    request = a_request(user_message("go"))
    before = json.dumps(request.messages)

    request_body(request)

    assert json.dumps(request.messages) == before


def test_without_caching_no_other_byte_changes() -> None:
    request = a_request(user_message("go"), *turn(1, calls=20))

    assert request_body(request, caching=False) == unmarked(request_body(request))


def test_blank_parts_and_empty_lists_are_left_out() -> None:
    request = a_request(user_message("go"), system=("", " \n")).replace(tools=[])

    assert set(request_body(request)) == {"model", "max_tokens", "messages", "stream"}


def test_thoughts_can_be_taken_out() -> None:
    messages = [user_message("go"), assistant_message(THOUGHT, "text"), assistant_message(THOUGHT)]

    assert without_thoughts(messages) == [user_message("go"), assistant_message("text")]


def test_its_length_counts_every_byte() -> None:
    request = a_request(user_message("😀" * 1_000))

    assert sent_bytes(request) > 4_000
