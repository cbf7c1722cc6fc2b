"""Laws of names, times, lines, patterns, mail and transcripts, for inputs that nobody would think of."""

from __future__ import annotations

import html
import json
import re
import unicodedata
from fnmatch import fnmatchcase
from itertools import pairwise, product
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from swarm.core.globs import covers, may_overlap
from swarm.core.identity import (
    check_name,
    encode_run,
    make_run_id,
    parse_run_id,
    project_folder_name,
    same_name,
    suggest_name,
)
from swarm.core.journal import parse_line, render_line
from swarm.core.message import Message, order_for_peek, parse_message, parse_messages, render_message
from swarm.core.tags import RESERVED, as_meant, letter, teammate_message, tool_text
from swarm.core.times import format_time, parse_time
from swarm.core.transcript import Position, assistant_line, fold_messages, result_line, user_line
from swarm.core.untrusted import clean, sanitised
from swarm.errors import ConfigError

any_text = st.text(st.characters())  # halves of surrogate pairs, too
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | any_text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(any_text, inner, max_size=3),
    max_leaves=8,
)
json_objects = st.dictionaries(any_text, json_values, max_size=4)
name_like = st.text(st.sampled_from("aAbB09_-./ @*é日\n\0"), max_size=6)


@given(name_like | any_text | st.text(st.sampled_from("ab-_"), min_size=60, max_size=70))
@example("team-lead")
@example("User")
def test_every_suggested_name_is_accepted(text: str) -> None:
    for what in ("teammate", "team"):
        suggestion = suggest_name(text, what)

        assert check_name(suggestion, what) == suggestion


@given(name_like | any_text)
def test_an_accepted_name_is_one_harmless_path_part(name: str) -> None:
    """Whatever is accepted is used in paths, in process arguments and as `name@team` without quoting."""
    try:
        check_name(name)
    except ConfigError as error:
        assert error.code == "bad_name"  # noqa: PT017 - either outcome is right
        return

    assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]*", name)
    assert len(name) <= 64


@given(st.lists(st.text(st.sampled_from("aAbBsS1-_"), min_size=1, max_size=3), max_size=6))
def test_names_that_are_not_the_same_differ_on_every_file_system(names: list[str]) -> None:
    accepted: list[str] = []
    for name in names:
        if not name.startswith(("-", "_")) and not any(same_name(name, other) for other in accepted):
            accepted.append(check_name(name))

    assert len({name.casefold() for name in accepted}) == len(accepted)


@given(st.lists(any_text.map(lambda tail: "/" + tail), unique=True, max_size=10))
@example(["/proj/測試甲", "/proj/測試乙", "/proj/a-b", "/proj/a/b", "/proj/A-b"])
def test_no_two_projects_share_a_folder(paths: list[str]) -> None:
    folders = [project_folder_name(path).casefold() for path in paths]

    assert len(set(folders)) == len(paths)
    assert all(re.fullmatch(r"[a-z0-9][a-z0-9-]*-[0-9a-f]{8}", folder) for folder in folders)


@given(st.binary(min_size=5, max_size=5), st.integers(min_value=1))
def test_a_run_id_gives_back_its_parts(random: bytes, life: int) -> None:
    run = encode_run(random)
    parsed = parse_run_id(make_run_id(run, "builder-1", life))

    assert re.fullmatch("[0-9a-z]{8}", run)
    assert (parsed.run, parsed.agent, parsed.life) == (run, "builder-1", str(life))


@given(st.integers(min_value=0, max_value=253_402_300_799_999))
def test_a_time_survives_as_text(milliseconds: int) -> None:
    text = format_time(milliseconds / 1000)

    assert len(text) == 24
    assert round(parse_time(text) * 1000) == milliseconds


@given(json_objects.filter(lambda obj: "c" not in obj and len(obj) > 0))
def test_a_journal_line_gives_back_its_body(body: dict[str, Any]) -> None:
    line = render_line(body)

    assert line.count(b"\n") == 1
    assert parse_line(line) == body


@given(json_objects.filter(bool), st.data())
def test_a_damaged_journal_line_is_noticed(body: dict[str, Any], data: st.DataObject) -> None:
    """Any one byte changed, and any tail torn off."""
    line = bytearray(render_line(body))
    place = data.draw(st.integers(0, len(line) - 2))
    cut = bytes(line[:place])
    line[place] ^= data.draw(st.integers(1, 255))

    for damaged in (bytes(line), cut):
        with pytest.raises(ValueError):
            parse_line(damaged)


short = st.text(st.sampled_from("ab*?["), min_size=1, max_size=3)
part = short | st.sampled_from(["**", "[!a]", "[]a]", "..", "a"])
patterns = st.lists(part, min_size=1, max_size=3).map("/".join)
FILE_NAMES = ("a", "b", "ab", "a]", "[")
PATHS = ["/".join(path) for depth in (1, 2, 3) for path in product(FILE_NAMES, repeat=depth)]


@given(patterns, patterns)
def test_patterns_that_cover_one_path_overlap(a: str, b: str) -> None:
    """Else two tasks in progress could write one file."""
    meet = any(covers(a, path) and covers(b, path) for path in PATHS)

    assert may_overlap(a, b) or not meet


@given(patterns, patterns)
def test_overlap_has_no_direction(a: str, b: str) -> None:
    assert may_overlap(a, b) == may_overlap(b, a)
    assert may_overlap(a, a)


@given(
    st.text(st.sampled_from("ab*?[]!"), max_size=5), st.text(st.sampled_from("ab[]!"), min_size=1, max_size=4)
)
def test_a_single_name_matches_as_in_a_shell(pattern: str, name: str) -> None:
    assume(pattern and "**" not in pattern)

    assert covers("x/" + pattern, "x/" + name) == fnmatchcase(name, pattern)


messages = st.builds(
    lambda sender, number, urgent: Message(
        sender=sender, text=str(number), msg_id=str(number), priority="urgent" if urgent else None
    ),
    st.sampled_from(["a", "b", "c"]),
    st.integers(),
    st.booleans(),
)


@given(st.lists(messages))
def test_urgent_mail_comes_first_and_order_stays(box: list[Message]) -> None:
    ordered = order_for_peek(box)

    assert sorted(map(id, ordered)) == sorted(map(id, box))
    urgent = [message for message in box if message.priority]
    assert list(ordered) == urgent + [message for message in box if not message.priority]


foreign_mail = st.fixed_dictionaries(
    {"from": st.sampled_from(["a", "b"]), "text": st.sampled_from(["x", "y", "\ud800"])},
    optional={
        "timestamp": st.just("2026-11-30T12:33:38.156Z"),
        "lead_sig": st.just("s"),
        "read": st.just(False),
    },
)


@given(st.lists(foreign_mail, max_size=6))
def test_mail_without_an_id_gets_one_that_stays(array: list[dict[str, Any]]) -> None:
    """At every reading the same, also after it was written back; equal messages are told apart."""
    parsed = parse_messages(array)

    assert parsed == parse_messages(array)
    assert len({message.msg_id for message in parsed}) == len(array)
    assert parse_messages([render_message(message) for message in parsed]) == parsed


@given(any_text)
def test_cleaned_text_is_clean_and_can_be_sent(text: str) -> None:
    cleaned = clean(text)

    assert clean(cleaned) == cleaned
    cleaned.encode()  # no half of a surrogate pair is left
    assert not re.search("[\0-\b\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e]", cleaned)


tag_like = st.lists(
    st.sampled_from(["<", "/", "teammate-message", "TEAMMATE-message", ">", " ", "\0", "\u200b", "x"])
)


@given(tag_like.map("".join), any_text)
def test_a_body_never_leaves_its_tag(body: str, summary: str) -> None:
    message = Message(sender="w1", text=body, summary=summary, msg_id="1")
    wrapped = teammate_message(message)

    assert wrapped.count("<") == wrapped.count(">") == 2
    assert wrapped.startswith("<teammate-message ")
    assert wrapped.endswith("\n</teammate-message>")
    assert wrapped.splitlines()[0].count('"') in (4, 6)


@given(any_text)
def test_a_letter_is_escaped_exactly_once(text: str) -> None:
    wrapped = letter("task-text", text)
    body = wrapped.removeprefix("<task-text>\n").removesuffix("\n</task-text>")

    assert not set("<>\"'") & set(body)
    assert html.unescape(body) == sanitised(text)


_PIECES = [
    "<",
    "&lt;",
    "&#60",
    ";",
    "\\u003c",
    "\\",
    "/",
    " ",
    "\n",
    "system",
    "SYSTEM",
    "-",
    "_",
    "reminder",
    ">",
]
_ODD_PIECES = [
    *(
        "\u200b",
        "\ufe0f",
        "\u27e8",
        "U+200B",
        "U+FE0F",
        "\u27e9",
        "\uff1c",
        "\ufb06",
        "\u0455",
        "e\u0301",
        "%3c",
        "u",
    )
]
result_like = st.lists(st.sampled_from(_PIECES + _ODD_PIECES) | any_text).map("".join)


@given(result_like)
def test_a_result_stays_what_it_was(text: str) -> None:
    """Whatever a model is shown of a file, what it copies means exactly that file's text."""
    text = text.encode("utf-8", "replace").decode()
    shown = tool_text(text)

    assert as_meant(shown) == text
    assert tool_text(as_meant(shown)) == shown


@given(result_like)
def test_a_result_holds_no_tag_of_ours(text: str) -> None:
    shown = unicodedata.normalize("NFKC", tool_text(text.encode("utf-8", "replace").decode())).casefold()
    names = "|".join(map(re.escape, RESERVED))

    assert not re.search(rf"<[\s/]*(?:{names})(?![a-z0-9_-])", shown)
    assert not re.search("[\0-\b\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\ufeff]", shown)


def _line(n: int, kind: str, ids: list[str]) -> dict[str, Any]:
    at = Position(session="s", n=n, time="t", run_id="r.w1.1")
    if kind == "user":
        return user_line(at, message={"role": "user", "content": f"text {n}"})
    if kind == "result":
        block = {"type": "tool_result", "tool_use_id": ids[0] if ids else "none", "content": "ok"}
        return result_line(at, block=block, elapsed_seconds=0.1)
    calls = [{"type": "tool_use", "id": call, "name": "Read", "input": {}} for call in dict.fromkeys(ids)]
    content = [{"type": "text", "text": " " if calls else "Done."}, *calls]
    return assistant_line(at, message={"role": "assistant", "content": content}, stop_reason="x", usage={})


kinds = st.tuples(
    st.sampled_from(["user", "assistant", "result"]), st.lists(st.integers(0, 5).map(str), max_size=3)
)


@given(st.lists(kinds, max_size=12))
def test_folded_messages_are_what_a_model_accepts(drawn: list[tuple[str, list[str]]]) -> None:
    """Whatever was cut off: roles alternate, each call is answered once and at once, no text is blank."""
    lines = [
        _line(n, kind, [f"{n}-{i}" for i in ids] if kind == "assistant" else ids)
        for n, (kind, ids) in enumerate(drawn)
    ]
    folded = fold_messages(json.loads(json.dumps(lines)), "s")

    roles = [message["role"] for message in folded]
    assert all(a != b for a, b in pairwise(roles))
    for number, message in enumerate(folded):
        assert all(block.get("text", "x").strip() for block in message["content"])
        calls = [block["id"] for block in message["content"] if block["type"] == "tool_use"]
        if calls:
            following = folded[number + 1]["content"]
            assert [block.get("tool_use_id") for block in following[: len(calls)]] == calls
    answered = [b["tool_use_id"] for m in folded for b in m["content"] if b["type"] == "tool_result"]
    assert len(answered) == len(set(answered))


@given(json_objects)
def test_unknown_fields_of_a_message_survive(unknown: dict[str, Any]) -> None:
    obj = {"from": "w1", "text": "hello", "msg_id": "1", "type": "message", "read": False}
    merged = {**unknown, **obj}
    known = (
        "to",
        "summary",
        "timestamp",
        "color",
        "msgV",
        "in_reply_to",
        "priority",
        "expires_at",
        "acked_at",
    )
    assume(not unknown.keys() & {*known, "expired"})

    assert render_message(parse_message(merged)) == merged
