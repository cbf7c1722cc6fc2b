"""What others wrote cannot act on the terminal of who reads it."""

import json

import pytest

from swarm.cli.render import ago, as_json, count, local_time, paint, printable, printable_lines

HOSTILE = "a\x1b]0;title\x07b\r\x08\x9b31m\u202ec\u200bd\x7f\ud800"


def test_controls_are_shown_not_obeyed() -> None:
    shown = printable(HOSTILE)

    assert shown == r"a\x1b]0;title\x07b\r\x08\x9b31m\u202ec\u200bd\x7f\ud800"
    assert shown.isprintable()


def test_a_line_end_cannot_fake_a_second_line() -> None:
    assert printable("one\ntwo\ttabs") == r"one\ntwo\ttabs"


@pytest.mark.parametrize("text", ["plain", "日本語", "naïve café", "👩‍👩‍👧 🙂", "a\u00a0b\u3000c", ""])
def test_text_of_any_script_stays_as_it_is(text: str) -> None:
    assert printable(text) == text


def test_longer_text_keeps_its_lines_and_tabs() -> None:
    assert printable_lines("one\r\ntwo\tx\x1b[2J\n") == "one\ntwo\tx\\x1b[2J\n"


def test_json_holds_the_same_text_in_characters_that_only_print() -> None:
    """Also those that JSON itself would let through: C1 controls, direction marks, half a surrogate pair."""
    line = as_json({"text": HOSTILE, "ja": "日本"})

    assert line.isprintable()
    assert "日本" in line
    assert json.loads(line) == {"text": HOSTILE, "ja": "日本"}


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(-3, "0s"), (0, "0s"), (59.9, "59s"), (60, "1m"), (3599, "59m"), (3660, "1h 01m"), (93_600, "1d 2h")],
)
def test_durations_have_at_most_two_parts(seconds: float, text: str) -> None:
    assert ago(seconds) == text


def test_times_are_shown_by_the_local_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    monkeypatch.setenv("TZ", "UTC-2")
    time.tzset()
    try:
        assert local_time("2026-11-30T22:31:02.410Z") == "2026-12-01 00:31:02"
    finally:
        monkeypatch.undo()
        time.tzset()


def test_what_is_no_time_is_shown_harmlessly() -> None:
    """Another program may write anything where a time should stand."""
    assert local_time("soon\x1b[1m") == r"soon\x1b[1m"
    assert local_time("9999999-01-01T00:00:00Z") == "9999999-01-01T00:00:00Z"


def test_colours_only_where_they_are_wanted() -> None:
    assert paint("x", "red", enabled=True) == "\x1b[31mx\x1b[0m"
    assert paint("x", "red", enabled=False) == "x"
    assert paint("x", "", enabled=True) == "x"


def test_one_is_singular() -> None:
    assert [count(number, "task") for number in (0, 1, 2)] == ["0 tasks", "1 task", "2 tasks"]
