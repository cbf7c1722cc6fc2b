"""Which characters of foreign text reach a context."""

from __future__ import annotations

import sys
import unicodedata

import pytest

from swarm.core.untrusted import (
    UnsafeTextError,
    clean,
    plain_line,
    sanitised,
    sanitised_json,
    settled,
)


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("plain\ttext\n", "plain\ttext\n"),
        ("a\0b\x1b[31mc\x7fd\x9be", "ab[31mcde"),
        ("a\r\nb\rc\u2028d", "a\nb\nc\nd"),
        ("in\u200bvis\u00adible\ufeff", "invisible"),
        ("\u202eevil\u202c \u2066x\u2069", "evil x"),
        ("tag\U000e0041\U000e007f", "tag"),
        ("private\ue000\U000f0000", "private"),
        ("unassigned\u0378", "unassigned"),
        ("half\ud83d", "half"),
        ("née 日本 😀 ❤\ufe0f 1\ufe0f\u20e3", "née 日本 😀 ❤\ufe0f 1\ufe0f\u20e3"),
        ("hidden\ufe0f\ufe01 ❤\ufe0f\ufe0f", "hidden ❤\ufe0f"),
        ("مرحبا שלום Привет नमस्ते", "مرحبا שלום Привет नमस्ते"),
        ("later\U0001faea", "later\U0001faea"),
        ("👩\u200d💻", "👩💻"),
        ("", ""),
    ],
)
def test_only_what_a_person_would_see_is_left(text: str, cleaned: str) -> None:
    assert clean(text) == cleaned


def test_every_form_of_a_special_character_becomes_that_character() -> None:
    for code in range(sys.maxunicode + 1):
        ch = chr(code)
        if unicodedata.normalize("NFKC", ch) in ("<", ">", "&", '"', "'"):
            assert sanitised(ch) in ("<", ">", "&", '"', "'"), hex(code)


def test_honest_text_is_not_rewritten() -> None:
    """Only what could be markup is folded: the rest of NFKC would change what people wrote."""
    text = "2² ½ … ﬁn „quoted“ 「日本」！ ｱｲｳ Ⅳ ①"  # noqa: RUF001

    assert sanitised(text) == text


def test_what_does_not_settle_is_refused() -> None:
    with pytest.raises(UnsafeTextError, match="10 rounds"):
        settled("a", lambda text: text + "a")

    assert settled("aaaaaaaab", lambda text: text.removeprefix("a")) == "b"


def test_one_clean_line() -> None:
    assert plain_line(" a\n\u200b b\t& c ") == "a b & c"


def test_json_is_sanitised_to_its_keys() -> None:
    given = {"a\u200b": ["x\u202e", {"\uff1ck\uff1e": "v\0"}], "n": 1, "t": True, "z": None}

    assert sanitised_json(given) == {"a": ["x", {"<k>": "v"}], "n": 1, "t": True, "z": None}


def test_two_keys_that_become_one_are_refused() -> None:
    """Else who checks one of them and who uses one of them could mean different values."""
    with pytest.raises(UnsafeTextError, match="look the same"):
        sanitised_json({"deep": [{"allow": False, "al\u200blow": True}]})


def test_bottomless_json_is_refused() -> None:
    value: object = "x"
    for _ in range(400):
        value = [value]

    with pytest.raises(UnsafeTextError, match="nested"):
        sanitised_json(value)
