"""What is set aside for a request is never less than what it comes to."""

from __future__ import annotations

from worker.messages import Message, assistant_message, user_message
from worker.model.estimate import InputEstimate
from worker.model.port import ModelRequest
from worker.model.request import sent_bytes

MARGIN = 2_000


def a_request(*messages: Message) -> ModelRequest:
    return ModelRequest(model="m", system=("be good",), messages=list(messages), tools=[], max_tokens=10)


FIRST = a_request(user_message("go " * 100))
SECOND = a_request(*FIRST.messages, assistant_message("Looking."), user_message("found"))


def test_a_first_request_counts_by_its_bytes() -> None:
    assert InputEstimate().most_tokens(FIRST) == sent_bytes(FIRST) + MARGIN


def test_what_was_counted_is_known_and_only_what_is_new_counts_by_its_bytes() -> None:
    estimate = InputEstimate()
    estimate.learn(FIRST, {"input_tokens": 10, "cache_read_input_tokens": 90, "output_tokens": 7})

    assert estimate.most_tokens(FIRST) == 100 + MARGIN
    assert estimate.most_tokens(SECOND) == 100 + sent_bytes(SECOND) - sent_bytes(FIRST) + MARGIN


def test_another_conversation_begins_anew() -> None:
    """As long as the last one, or shorter: what was counted says nothing about it."""
    for other in (a_request(user_message("漢" * 400)), a_request(user_message("x"))):
        estimate = InputEstimate()
        estimate.learn(SECOND, {"input_tokens": 10})
        assert estimate.most_tokens(other) == sent_bytes(other) + MARGIN
        estimate.learn(FIRST, {"input_tokens": 10})
        assert estimate.most_tokens(other) == sent_bytes(other) + MARGIN


def test_an_answer_that_counted_nothing_teaches_nothing() -> None:
    estimate = InputEstimate()

    estimate.learn(FIRST, {"input_tokens": 0, "output_tokens": 0})

    assert estimate.most_tokens(FIRST) == sent_bytes(FIRST) + MARGIN
