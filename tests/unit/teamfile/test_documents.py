"""JSON and TOML: the same data, told by key path instead of a line."""

from __future__ import annotations

import pytest

from swarm.teamfile.documents import kind_of, parse_json, parse_toml


def only(document):
    (problem,) = document.problems
    return problem


def test_json_key_given_twice_is_a_problem_with_its_path() -> None:
    """json.loads would take the last one without a word."""
    problem = only(parse_json('{"a": [{"b": 1, "b": 2}]}'))

    assert problem.path == ("a", 0, "b")
    assert problem.message == "this key stands here twice"


def test_toml_key_given_twice_is_refused() -> None:
    """The TOML parser finds these by itself."""
    assert "Cannot overwrite a value" in only(parse_toml("a = 1\na = 2\n")).message


@pytest.mark.parametrize(
    ("parse", "text", "line"),
    [(parse_json, '{"a": 1,\n "b": }', 2), (parse_toml, "a = 1\nb = \n", 2), (parse_toml, "a = [", None)],
)
def test_syntax_errors_have_a_line_where_the_parser_tells_one(parse, text, line) -> None:
    """Without a line, a long file is a riddle."""
    problem = only(parse(text))

    assert "not valid" in problem.message
    assert problem.line == line


@pytest.mark.parametrize("text", ["NaN", "Infinity", "1e999"])
def test_json_numbers_are_finite(text) -> None:
    """They would not survive being written again."""
    assert only(parse_json(f'{{"a": {text}}}')).message


def test_toml_infinity_is_refused() -> None:
    """The same for TOML, which has a word for it."""
    assert only(parse_toml("a = inf")).message == "expected a number, got inf"


def test_toml_dates_are_no_values_of_a_team_file() -> None:
    """A date that nobody meant as one becomes visible."""
    assert "put it in quotes" in only(parse_toml("a = 2026-11-30")).message


@pytest.mark.parametrize("text", ['"a\\u0000b"', '"\\ud800"'])
def test_text_that_no_file_can_hold_is_refused(text) -> None:
    """NUL ends a command early; half a surrogate pair cannot be written."""
    assert "no file or command" in only(parse_json(text)).message


@pytest.mark.parametrize(
    ("parse", "opening", "closing"), [(parse_json, "[", "]"), (parse_toml, "a = [", "]")]
)
def test_deep_nesting_is_an_error_not_a_crash(parse, opening, closing) -> None:
    """Both parsers are recursive."""
    text = opening + "[" * 50_000 + "]" * 50_000 + closing

    assert only(parse(text)).message


def test_nesting_that_the_parser_survives_is_limited_too() -> None:
    """What comes after the parser is recursive as well."""
    assert only(parse_json("[" * 100 + "]" * 100)).message == "lists and mappings are nested too deeply"


def test_order_is_that_of_the_file() -> None:
    """The first error is the first one that a reader of the file meets."""
    order = parse_json('{"b": [1, 2], "a": 3}').places.order

    assert sorted(order, key=lambda path: order[path]) == [(), ("b",), ("b", 0), ("b", 1), ("a",)]


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (None, "nothing"),
        (True, "true or false"),
        (1, "a number"),
        ("", "text"),
        ([], "a list"),
        ({}, "a mapping"),
    ],
)
def test_values_are_called_what_people_call_them(value, kind) -> None:
    """`NoneType` and `dict` mean nothing to somebody who writes YAML."""
    assert kind_of(value) == kind
