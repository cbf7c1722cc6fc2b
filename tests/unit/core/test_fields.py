from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from swarm.core import fields
from swarm.core.jsontext import compact, json_line, parse_object


@pytest.mark.parametrize(
    ("read", "value"),
    [
        (fields.text, 1),
        (fields.text, None),
        (fields.optional_text, ["x"]),
        (fields.text_or_empty, 0),
        (fields.integer, "1"),
        (fields.integer, True),
        (fields.integer, 1.0),
        (fields.optional_integer, "1"),
        (fields.optional_flag, 1),
        (fields.texts, "abc"),
        (fields.texts, [1]),
        (fields.mapping, []),
    ],
)
def test_a_wrong_type_is_refused_by_the_name_of_its_field(read: Callable[..., Any], value: object) -> None:
    with pytest.raises(ValueError, match=r"^it should be .*, not "):
        read({"it": value}, "it")


@pytest.mark.parametrize(
    ("read", "value", "absent"),
    [
        (fields.optional_text, "x", None),
        (fields.text_or_empty, "x", ""),
        (fields.optional_integer, 0, None),
        (fields.optional_flag, False, None),
        (fields.texts, ("x",), ()),
        (fields.mapping, {"a": 1}, {}),
    ],
)
def test_an_optional_field_may_be_absent_or_null(
    read: Callable[..., Any], value: object, absent: object
) -> None:
    assert read({"it": value}, "it") == value
    assert read({}, "it") == absent
    assert read({"it": None}, "it") == absent


def test_an_integer_may_have_a_default() -> None:
    assert fields.integer({}, "it", 0) == 0


def test_the_rest_is_what_is_not_known() -> None:
    assert fields.rest({"a": 1, "b": 2}, frozenset({"a"})) == {"b": 2}
    assert fields.rest({"a": 1}, frozenset({"a", "b"})) == {}


def test_absent_fields_are_left_out() -> None:
    assert fields.present(a=None, b=0, c="", d=False) == {"b": 0, "c": "", "d": False}


def test_compact_json_is_readable_utf_8_without_spaces() -> None:
    assert compact({"a": [1, "é\n"]}) == '{"a":[1,"é\\n"]}'.encode()
    assert json_line({}) == b"{}\n"


def test_half_a_surrogate_pair_goes_out_as_an_escape() -> None:
    """A model can put one into a tool's input; the file must stay UTF-8."""
    assert compact({"a": "é\ud800"}) == rb'{"a":"\u00e9\ud800"}'


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_a_number_that_json_lacks_is_refused(number: float) -> None:
    with pytest.raises(ValueError, match="JSON"):
        compact({"a": number})


@pytest.mark.parametrize("raw", [b"[]", b"1", b"{", b"", b"\xff{}"])
def test_only_an_object_is_an_object(raw: bytes) -> None:
    with pytest.raises(ValueError):
        parse_object(raw)
