"""YAML as data with lines: what is read how, and what is refused."""

from __future__ import annotations

import pytest
import yaml

from swarm.teamfile import yaml_text
from swarm.teamfile.documents import DEPTH_MAX
from swarm.teamfile.yaml_text import parse_yaml


@pytest.fixture(params=["compiled", "pure"])
def parse(request, monkeypatch):
    """The parser over both of PyYAML's scanners: a wheel without libyaml must read the same."""
    loader = yaml.SafeLoader if request.param == "pure" else getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    monkeypatch.setattr(yaml_text, "_LOADER", loader)
    return parse_yaml


def only(document):
    (problem,) = document.problems
    return problem


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12", 12),
        ("-3", -3),
        ("1.5", 1.5),
        ("1.0e+20", 1e20),
        ("true", True),
        ("False", False),
        ("null", None),
        ("~", None),
        ("", None),
        ('""', ""),
        ("'12'", "12"),
        ("!!str 12", "12"),
        ("! 12", "12"),
    ],
)
def test_plain_values_are_what_json_has(parse, text, value) -> None:
    """Numbers, booleans and nothing are read as such; quoted or tagged text stays text."""
    assert parse(f"a: {text}").data == {"a": value}


@pytest.mark.parametrize(
    "text", ["No", "yes", "on", "010", "0x1f", "1:30", "2026-11-30", "1e3", "1_000", ".inf"]
)
def test_what_only_looks_like_a_value_is_text(parse, text) -> None:
    """A subject `No` or a key `010` is not turned into something else behind the user's back."""
    assert parse(f"a: {text}").data == {"a": text}


def test_keys_are_text(parse) -> None:
    """Input of a tool may have keys such as -n or 1."""
    assert parse("{-n: 1, 1: a, true: b}").data == {"-n": 1, "1": "a", "true": "b"}


def test_every_value_has_the_line_of_its_key_or_item(parse) -> None:
    """Lines are what makes an error in a long file easy to find."""
    lines = parse("a: 1\nb:\n  - x\n  - c:\n      d: 1\n").places.lines

    assert lines[("a",)] == 1
    assert lines[("b",)] == 2
    assert lines[("b", 0)] == 3
    assert lines[("b", 1)] == 4
    assert lines[("b", 1, "c", "d")] == 5


def test_key_given_twice_names_both_lines_and_keeps_the_first(parse) -> None:
    """YAML would silently take the last one."""
    document = parse("a: 1\nb: 2\na: 3\n")

    assert only(document).message == "this key stands here twice, in lines 1 and 3"
    assert only(document).line == 3
    assert document.data == {"a": 1, "b": 2}


def test_key_given_twice_on_one_line(parse) -> None:
    """Flow mappings have no line of their own for each key."""
    assert only(parse("x: {a: 1, a: [2, 3]}")).path == ("x", "a")


def test_aliases_are_written_out(parse) -> None:
    """Anchors are a handy way to say a script twice."""
    assert parse("a: &x [1, &y 2]\nb: *x\nc: *y\n").data == {"a": [1, 2], "b": [1, 2], "c": 2}


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        ("a: [1\n", "not valid YAML", 2),
        ("a: b: c", "not valid YAML", 1),
        ("x: 1\na: \x01", "not valid YAML", 2),
        ("a: 1\nb: \t- c\n", "not valid YAML", 2),
        ("a: *b", "*b is not defined above", 1),
        ("a: &a\n  - *a", "*a holds itself", 2),
        ("a: !!python/object/apply:os.system [ls]", "is not allowed", 1),
        ("a: !!int 3", "is not allowed", 1),
        ("a: !mine {b: 1}", "is not allowed", 1),
        ("a: 1\n---\nb: 2\n", "a second document starts here", 2),
        ("? [a, b]\n: c\n", "a key must be plain text", 1),
        ("a: 1\n*x : 2\n", "a key must be plain text", 2),
    ],
)
def test_what_a_team_file_has_no_use_for_is_refused_with_its_line(parse, text, message, line) -> None:
    """Tags could make objects, and two documents would hide one of them."""
    problem = only(parse(text))

    assert message in problem.message
    assert problem.line in (line, line - 1)


def test_aliases_cannot_exhaust_memory(parse) -> None:
    """Nine aliases of nine aliases of … are a few hundred bytes and billions of values."""
    bomb = "a: &a [x, x, x, x, x, x, x, x, x]\n"
    for before, here in zip("abcdefgh", "bcdefghi", strict=True):
        bomb += f"{here}: &{here} [{', '.join(['*' + before] * 9)}]\n"

    assert "holds more than" in only(parse(bomb)).message


def test_a_chain_of_aliases_is_not_too_deep_for_us(parse) -> None:
    """Each alias nests one deeper without a single bracket more."""
    chain = "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}]\n" for n in range(1, DEPTH_MAX + 5))

    assert only(parse(chain)).message == "lists and mappings are nested too deeply"


@pytest.mark.parametrize("depth", [DEPTH_MAX + 1, 20_000])
def test_brackets_cannot_exhaust_the_stack(parse, depth) -> None:
    """Deep nesting ends in an error, never in a crash."""
    message = only(parse("[" * depth + "]" * depth)).message

    assert "nest" in message or "maximum" in message


def test_empty_text_is_no_data_and_no_error(parse) -> None:
    """What an empty file means is for the reader to say."""
    assert parse("# nothing\n").data is None
    assert parse("").problems == ()
