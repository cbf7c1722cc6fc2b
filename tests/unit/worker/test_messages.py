"""Arrays of messages stay such that every model accepts them."""

from __future__ import annotations

import copy

from swarm.core.transcript import INTERRUPTED
from tests.support.models import check_array
from worker.messages import (
    assistant_message,
    final_text,
    repair_pairing,
    text_block,
    tool_result,
    tool_use,
    user_message,
)

CALL_1 = tool_use("t1", "Bash", {"command": "ls"})
CALL_2 = tool_use("t2", "Read", {"file_path": "a"})


def test_a_valid_array_comes_back_equal_and_with_the_very_same_answers() -> None:
    """What the model sent goes back byte for byte: altered thinking is refused by the service."""
    answer = assistant_message({"type": "thinking", "thinking": "hm", "signature": "s"}, "Looking.", CALL_1)
    messages = [user_message("go"), answer, user_message(tool_result("t1", "a\n"))]

    repaired = repair_pairing(messages)

    assert repaired == messages
    assert repaired[1] is answer


def test_a_call_without_result_is_answered_as_interrupted() -> None:
    repaired = repair_pairing([user_message("go"), assistant_message(CALL_1, CALL_2)])

    check_array(repaired)
    assert [block["content"] for block in repaired[-1]["content"]] == [INTERRUPTED, INTERRUPTED]
    assert all(block["is_error"] for block in repaired[-1]["content"])


def test_a_real_result_is_kept_beside_an_interrupted_one_in_the_order_of_the_calls() -> None:
    messages = [user_message("go"), assistant_message(CALL_1, CALL_2), user_message(tool_result("t2", "two"))]

    results = repair_pairing(messages)[-1]["content"]

    assert [(block["tool_use_id"], block["content"]) for block in results] == [
        ("t1", INTERRUPTED),
        ("t2", "two"),
    ]


def test_results_come_before_text_and_neighbouring_user_messages_become_one() -> None:
    """Mail that arrived while tools ran must not stand between a call and its result."""
    messages = [
        user_message("go"),
        assistant_message(CALL_1),
        user_message("mail"),
        user_message(tool_result("t1", "done")),
    ]

    repaired = repair_pairing(messages)

    check_array(repaired)
    assert [block["type"] for block in repaired[-1]["content"]] == ["tool_result", "text"]


def test_a_result_without_its_call_is_dropped() -> None:
    repaired = repair_pairing([user_message("go", tool_result("t9", "?")), assistant_message("done")])

    assert repaired == [user_message("go"), assistant_message("done")]


def test_only_the_first_of_two_results_of_one_call_counts() -> None:
    twice = user_message(tool_result("t1", "first"), tool_result("t1", "second"))

    repaired = repair_pairing([user_message("go"), assistant_message(CALL_1), twice])

    assert [block["content"] for block in repaired[-1]["content"]] == ["first"]


def test_blank_text_is_never_sent() -> None:
    """One blank block poisons a session for good: every later request holds it again and is refused."""
    messages = [
        user_message("go", " "),
        assistant_message("\n", CALL_1),
        user_message(tool_result("t1", "")),
        assistant_message(" "),
    ]

    repaired = repair_pairing(messages)

    check_array(repaired)
    assert repaired[:2] == [user_message("go"), assistant_message(CALL_1)]
    assert len(repaired) == 3


def test_an_array_without_a_beginning_gets_one() -> None:
    repaired = repair_pairing([assistant_message("hello"), assistant_message("again")])

    check_array(repaired)
    assert repaired[1] == assistant_message("hello", "again")


def test_bare_text_as_content_is_understood() -> None:
    assert repair_pairing([{"role": "user", "content": "go"}]) == [user_message("go")]


def test_nothing_given_is_changed() -> None:
    messages = [user_message("go", " "), assistant_message(CALL_1), user_message("x"), user_message("y")]
    before = copy.deepcopy(messages)

    repair_pairing(messages)

    assert messages == before


def test_final_text_leaves_out_calls_and_blanks() -> None:
    assert final_text(assistant_message(" One. ", CALL_1, text_block("\n"), "Two.")) == "One.\n\nTwo."
    assert final_text(assistant_message(CALL_1)) == ""
