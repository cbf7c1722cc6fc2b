"""A transcript as a person reads it; what `swarm logs` prints of whole ones is tested there."""

from __future__ import annotations

import json
from typing import Any

import pytest

from swarm.core.page import TranscriptPage
from swarm.core.shown import local_time, paint, printable, printable_lines


def lines(*given: dict[str, Any], color: bool = False) -> list[str]:
    page = TranscriptPage(color=color, when=lambda _: "12:00")
    whole = [{"time": "2026-01-01T00:00:00.000Z", **one} for one in given]
    return [line for one in whole for line in page.shown(json.dumps(one).encode())]


def test_what_a_terminal_has_no_room_for_stands_under_the_text() -> None:
    page = TranscriptPage(color=False, when=lambda _: "12:00", columns=lambda: 30)
    line = {"time": "x", **said({"type": "text", "text": f"ok{' ' * 21}12:01  * Bash rm"})}

    assert page.shown(json.dumps(line).encode())[1].startswith(" " * 7)


def said(*content: Any) -> dict[str, Any]:
    return {"type": "assistant", "message": {"content": list(content)}}


def test_a_session_is_told_in_order() -> None:
    call = {"type": "tool_use", "id": "c1", "name": "Bash", "input": {"command": "ls  -l"}}
    result = {"tool_use_id": "c1", "content": "\n---\n  two   words\nmore", "is_error": False}

    assert lines(
        {"type": "start", "task": "7", "session": "s", "cause": "claim", "model": "m"},
        {"type": "user", "message": {"content": "do\nit"}},
        said({"type": "text", "text": "Looking.\nAt once."}, call),
        {"type": "result", "block": result, "elapsed_seconds": 0.25},
        {"type": "result", "block": {**result, "is_error": True, "content": None}, "elapsed_seconds": 1},
        {"type": "note", "what": "cut", "text": "short"},
        {"type": "end", "outcome": "completed", "why": "end_turn"},
    ) == [
        "12:00  == task 7, session s (claim, model m)",
        "12:00  > do",
        "       > it",
        "12:00  Looking.",
        "       At once.",
        "12:00  * Bash ls  -l",
        "12:00    Bash: two words (+2 lines) [0.2s]",
        "12:00    Bash failed:  [1.0s]",
        "12:00  ! cut: short",
        "12:00  == completed (end_turn)",
    ]


def test_a_call_that_was_refused_is_not_told_as_one_that_failed() -> None:
    call = {"type": "tool_use", "id": "c1", "name": "Bash", "input": {"command": "make"}}
    result = {"tool_use_id": "c1", "content": "Bash was not permitted: no.", "is_error": True}

    assert lines(said(call), {"type": "result", "block": result, "elapsed_seconds": 2}) == [
        "12:00  * Bash make",
        "12:00    Bash was not permitted: no. [2.0s]",
    ]


def test_long_prompts_and_results_are_cut() -> None:
    prompt = "\n".join(map(str, range(10)))
    assert lines({"type": "user", "message": {"content": prompt}})[-1] == "       > ... 4 more lines"
    block = {"tool_use_id": "?", "content": [{"type": "text", "text": "x" * 300}]}
    (shown,) = lines({"type": "result", "block": block, "elapsed_seconds": 0})
    assert shown == f"12:00    result: {'x' * 200}… [0.0s]"


def test_a_call_shows_what_tells_most() -> None:
    calls = [{"path": "src", "n": 1}, {"n": 1}, {}, None]
    blocks = [{"type": "tool_use", "id": "c", "name": "T", "input": given} for given in calls]
    assert lines(said(*blocks)) == ["12:00  * T src", '12:00  * T {"n": 1}', "12:00  * T", "12:00  * T"]


@pytest.mark.parametrize("given", [{"plan": "# One\n\n1. two \x1b[2J"}, {"plan": " "}, {"plan": 7}, {}])
def test_a_plan_is_there_to_be_read(given: dict[str, Any]) -> None:
    block = {"type": "tool_use", "id": "c", "name": "ExitPlanMode", "input": given}
    first, *others = lines(said(block))
    assert first.startswith("12:00  * ExitPlanMode")
    plan = ["         # One", "", "         1. two \\x1b[2J"] if "One" in str(given) else []
    assert [other.rstrip() for other in others] == plan
    assert ("plan" in first) == (not plan and bool(given))


@pytest.mark.parametrize("raw", [b"", b"[]", b"{}", b'{"type": "start", "time": 1}', b'{"type": "odd"}'])
def test_what_cannot_be_understood_is_passed_over(raw: bytes) -> None:
    assert TranscriptPage(color=True).shown(raw) == []


def test_text_of_others_cannot_act_on_a_terminal() -> None:
    assert lines(said({"type": "text", "text": "a\x1b[2Jb\tc\u200b"})) == ["12:00  a\\x1b[2Jb\tc\\u200b"]
    assert printable("é ☃") == "é ☃"
    assert printable("a\nb\u2003c") == "a\\nb\u2003c"
    assert printable_lines("a\r\nb\tc") == "a\nb\tc"
    assert paint("x", "red", enabled=True) == "\x1b[31mx\x1b[0m"
    assert paint("x", "red", enabled=False) == paint("x", "", enabled=True) == "x"
    assert local_time("no \x07 time") == "no \\x07 time"
    assert len(local_time("2026-01-01T00:00:00.000Z")) == 19
