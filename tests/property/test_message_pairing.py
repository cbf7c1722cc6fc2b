"""Whatever is cut off and wherever, what goes to the model is valid: paired, alternating, never blank."""

from __future__ import annotations

import copy
import random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from swarm.core.transcript import Position, assistant_line, result_line, start_line, user_line
from tests.support.models import check_array
from worker.messages import (
    MISSING_START,
    Message,
    assistant_message,
    blocks_of,
    repair_pairing,
    text_block,
    tool_result,
    tool_use,
    user_message,
)
from worker.session.history import fold_session

IDS = ["t1", "t2", "t3", "t4"]
TEXTS = st.sampled_from(["hello", " ", "", "\n", "more"]).map(text_block)
CALLS = st.sampled_from(IDS).map(lambda one: tool_use(one, "Bash", {"command": one}))
RESULTS = st.sampled_from(IDS).map(lambda one: tool_result(one, f"ran {one}"))


def unique_calls(blocks: list[Any]) -> bool:
    calls = [block["id"] for block in blocks if block["type"] == "tool_use"]
    return len(calls) == len(set(calls))


MESSAGES = st.lists(
    st.one_of(
        st.lists(TEXTS | RESULTS, max_size=4).map(lambda blocks: user_message(*blocks)),
        st.lists(TEXTS | CALLS, max_size=4)
        .filter(unique_calls)
        .map(lambda blocks: assistant_message(*blocks)),
    ),
    max_size=8,
)


@given(MESSAGES)
def test_any_array_becomes_valid(messages: list[Message]) -> None:
    before = copy.deepcopy(messages)

    repaired = repair_pairing(messages)

    check_array(repaired)
    assert messages == before, "nothing given is changed"
    assert repair_pairing(repaired) == repaired, "a valid array comes back equal"


@given(MESSAGES)
def test_nothing_that_is_valid_gets_lost(messages: list[Message]) -> None:
    """Every call and every text that is not blank is still there, in its order."""

    repaired = repair_pairing(messages)

    assert _kept(repaired, "assistant") == _kept(messages, "assistant")
    assert [one for one in _kept(repaired, "user") if one != MISSING_START] == _kept(messages, "user")


def _kept(array: list[Message], role: str) -> list[str]:
    blocks = [block for one in array if one["role"] == role for block in blocks_of(one)]
    said = [str(block.get("text", block.get("id"))) for block in blocks if block["type"] != "tool_result"]
    return [one for one in said if one.strip()]


TURNS = st.lists(
    st.fixed_dictionaries({"says": st.booleans(), "calls": st.integers(0, 3), "mail": st.integers(0, 2)}),
    min_size=1,
    max_size=5,
)


class Story:
    """A session that was never cut off: its lines, and the messages that the loop had at each of them."""

    def __init__(self, turns: list[dict[str, Any]], order: random.Random) -> None:
        self.lines: list[dict[str, Any]] = [start_line(self._at(1), cause="claim", model="scripted")]
        self.messages: list[Message] = []
        self._user("the task", [])
        self._mails = 0
        for number, turn in enumerate(turns):
            self._turn(number, turn, order)

    def _at(self, n: int) -> Position:
        return Position(session="a", n=n, time="", run_id="r.w.1", task="7")

    def _next(self) -> Position:
        return self._at(len(self.lines) + 1)

    def _user(self, text: str, ids: list[str]) -> None:
        message = user_message(text)
        self.lines.append(user_line(self._next(), message=message, msg_ids=ids))
        if self.messages and self.messages[-1]["role"] == "user":
            self.messages[-1] = user_message(*blocks_of(self.messages[-1]), text)
        else:
            self.messages.append(message)

    def _turn(self, number: int, turn: dict[str, Any], order: random.Random) -> None:
        calls = [tool_use(f"t{number}{n}", "Bash", {}) for n in range(turn["calls"])]
        said = [text_block("I say")] if turn["says"] or not calls else []
        message = assistant_message(*said, *calls)
        self.lines.append(assistant_line(self._next(), message=message, stop_reason="", usage={}))
        self.messages.append(message)
        results = [tool_result(call["id"], "ran") for call in calls]
        if results:
            self.messages.append(user_message(*results))
        for block in order.sample(results, len(results)):
            self.lines.append(result_line(self._next(), block=block, elapsed_seconds=0.0))
        for _ in range(turn["mail"] if results else 1):
            self._mails += 1
            self._user(f"mail {self._mails}", [f"m{self._mails}"])


@given(TURNS, st.randoms(use_true_random=False))
def test_a_transcript_folds_to_the_very_messages_that_were_sent(
    turns: list[dict[str, Any]], order: random.Random
) -> None:
    """Also when tools that ran side by side ended in another order than they were called."""
    story = Story(turns, order)

    assert fold_session(story.lines, "a") == story.messages


@given(TURNS, st.randoms(use_true_random=False), st.data())
def test_a_session_cut_at_any_line_can_go_on(
    turns: list[dict[str, Any]], order: random.Random, data: st.DataObject
) -> None:
    story = Story(turns, order)
    cut = data.draw(st.integers(2, len(story.lines)))

    messages = fold_session(story.lines[:cut], "a")

    check_array(messages)
    assert repair_pairing(messages) == messages
    check_array(repair_pairing([*messages, user_message("go on")]))
