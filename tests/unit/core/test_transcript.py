from __future__ import annotations

import copy
from typing import Any

import pytest

from swarm.core.transcript import (
    INTERRUPTED,
    Position,
    assistant_line,
    call_line,
    end_line,
    fold_messages,
    interrupted_result,
    is_interrupted,
    message_ids,
    note_line,
    result_line,
    start_line,
    user_line,
)


def at(n: int, session: str = "s1") -> Position:
    return Position(session=session, n=n, time="t", run_id="r.w1.1")


def user(n: int, *texts: str, session: str = "s1") -> dict[str, Any]:
    content = [{"type": "text", "text": text} for text in texts]
    return user_line(at(n, session), message={"role": "user", "content": content})


def assistant(n: int, *calls: str, text: str = "Looking.") -> dict[str, Any]:
    blocks = [{"type": "tool_use", "id": call, "name": "Read", "input": {}} for call in calls]
    content = [{"type": "text", "text": text}, *blocks]
    return assistant_line(at(n), message={"role": "assistant", "content": content}, stop_reason="x", usage={})


def answer(call: str) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call, "content": f"result of {call}"}


def result(n: int, call: str) -> dict[str, Any]:
    return result_line(at(n), block=answer(call), elapsed_seconds=0.5)


def shape(messages: list[dict[str, Any]]) -> list[tuple[str, list[str]]]:
    return [
        (message["role"], [b.get("text") or b.get("tool_use_id") or b["id"] for b in message["content"]])
        for message in messages
    ]


def test_results_come_first_in_the_order_of_their_calls() -> None:
    """Two tools ran at once, the second was faster, and mail came in between."""
    lines = [user(1, "Go."), assistant(2, "a", "b"), result(3, "b"), user(4, "Mail."), result(5, "a")]

    assert shape(fold_messages(lines, "s1")) == [
        ("user", ["Go."]),
        ("assistant", ["Looking.", "a", "b"]),
        ("user", ["a", "b", "Mail."]),
    ]


def test_a_result_may_stand_before_the_answer_that_asked_for_it() -> None:
    lines = [user(1, "Go."), call_line(at(2), block={"id": "a"}), result(3, "a"), assistant(4, "a")]

    assert fold_messages(lines, "s1")[-1]["content"] == [answer("a")]


def test_a_call_that_was_cut_off_is_answered_as_interrupted() -> None:
    folded = fold_messages([user(1, "Go."), assistant(2, "a", "b"), result(3, "a")], "s1")

    assert folded[-1]["content"] == [
        answer("a"),
        {"type": "tool_result", "tool_use_id": "b", "content": INTERRUPTED, "is_error": True},
    ]


@pytest.mark.parametrize("started", [True, False])
def test_the_answer_to_a_call_that_was_cut_off_is_known_by_all_of_it(started: bool) -> None:
    """What a tool returned may quote the words, or be no error; then it is a result like any other."""
    block = interrupted_result("a", started=started)

    assert is_interrupted(block)
    assert is_interrupted({**block, "new_field": 1})
    assert not is_interrupted({**block, "is_error": False})
    assert not is_interrupted({**block, "content": f"{block['content']}\n[exit code 1]"})
    assert not is_interrupted({**block, "content": [{"type": "text", "text": block["content"]}]})
    assert not is_interrupted(answer("a"))


def test_a_result_without_its_call_is_left_out() -> None:
    """The model's answer was cut off while its first tool ran already."""
    lines = [user(1, "Go."), call_line(at(2), block={"id": "a"}), result(3, "a")]

    assert shape(fold_messages(lines, "s1")) == [("user", ["Go."])]


def test_the_first_result_of_a_call_counts() -> None:
    again = result_line(at(4), block={**answer("a"), "content": "again"}, elapsed_seconds=0.1)

    assert fold_messages([assistant(2, "a"), result(3, "a"), again], "s1")[-1]["content"] == [answer("a")]


def test_neighbours_of_one_side_become_one_message() -> None:
    lines = [user(1, "Go."), user(2, "On."), assistant(3), assistant(4)]

    assert shape(fold_messages(lines, "s1")) == [
        ("user", ["Go.", "On."]),
        ("assistant", ["Looking.", "Looking."]),
    ]


def test_blank_text_is_left_out() -> None:
    """No model accepts it, and one such block would end the session for good."""
    lines = [user(1, "Go.", " \n"), assistant(2, text=""), user(3, "On."), user(4, "")]

    assert shape(fold_messages(lines, "s1")) == [("user", ["Go.", "On."])]


def test_plain_text_becomes_a_block() -> None:
    line = user_line(at(1), message={"role": "user", "content": "Go."})

    assert fold_messages([line], "s1") == [{"role": "user", "content": [{"type": "text", "text": "Go."}]}]


def test_other_sessions_and_notes_do_not_appear() -> None:
    lines = [
        start_line(at(1), cause="resume", model="m", parent="s0"),
        user(1, "Earlier.", session="s0"),
        user(2, "Go."),
        note_line(at(3), what="retry", text="again", data={"n": 1}),
        end_line(at(4), why="done", outcome="completed"),
        {"type": "odd"},
    ]

    assert shape(fold_messages(lines, "s1")) == [("user", ["Go."])]


def test_folding_leaves_the_lines_alone() -> None:
    """The transcript's answer is kept as it came, whatever is added to a request."""
    lines = [user(1, "Go."), user(2, "On."), assistant(3, "a")]
    before = copy.deepcopy(lines)
    fold_messages(lines, "s1")

    assert lines == before


def test_ids_of_mail_are_collected_from_all_lines() -> None:
    mail = user_line(at(2), message={"role": "user", "content": "x"}, msg_ids=["m1", "m2"])

    assert message_ids([user(1, "Go."), mail, assistant(3)]) == {"m1", "m2"}


def test_a_line_holds_only_what_there_is() -> None:
    place = {"session": "s1", "n": 1, "time": "t", "run_id": "r.w1.1"}
    assert start_line(at(1), cause="claim", model="m") == {
        "type": "start", **place, "cause": "claim", "model": "m",
    }  # fmt: skip
    assert result_line(at(2), block={}, elapsed_seconds=0.0, persisted="x/1")["persisted"] == "x/1"
    seen = {"path": "/x", "digest": "00"}
    assert result_line(at(2), block={}, elapsed_seconds=0.0, seen=seen)["seen"] == seen
    assert note_line(at(3), what="hook", text="said no").keys() == {
        "type", "session", "n", "time", "run_id", "what", "text",
    }  # fmt: skip
