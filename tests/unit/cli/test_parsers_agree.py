"""The fast parser and click read one table; whoever parses a line, the person sees the same."""

import io as text_io
from typing import Any

import pytest

from swarm.cli import fast, main
from swarm.cli.grammar import Verb
from swarm.cli.help import render_verb
from swarm.cli.session import Io
from swarm.cli.table import VERBS, find_verb
from swarm.errors import SwarmError

FAST = [verb for verb in VERBS if verb.fast]
PLACES = {
    "claim": ["7"],
    "list": [],
    "show": ["7"],
    "complete": ["7"],
    "status": [],
    "mail": ["w1"],
    "send": ["w1", "hi"],
}


def an_io() -> Io:
    return Io(text_io.StringIO(), text_io.StringIO(), text_io.StringIO(), {})


def by_fast(argv: list[str]) -> Any:
    found = fast.find_fast(argv)
    assert found is not None
    verb, words = found
    try:
        return fast.parse(verb, words)
    except fast.HelpWanted:
        return "help", render_verb(verb)
    except SwarmError as error:
        return "error", error.code, error.message, error.details


def by_click(argv: list[str]) -> Any:
    io = an_io()
    try:
        found = main.parse(argv, io)
    except SwarmError as error:
        return "error", error.code, error.message, error.details
    assert isinstance(io.out, text_io.StringIO)
    return ("help", io.out.getvalue().rstrip("\n")) if found is None else found[1]


def words_of(verb: Verb) -> list[str]:
    return [*verb.path, *PLACES[verb.path[-1]]]


def faults(verb: Verb) -> list[list[str]]:
    words = words_of(verb)
    valued = next(option for option in verb.all_options if option.kind != "flag")
    lines = [
        [*words, "--nosuch"],
        [*words, "-x"],
        [*words, "-vx"],
        [*words, "--nosuch=1"],
        [*words, "--jsno"],
        [*words, "--json=1"],
        [*words, "extra"],
        [*words, "--", "--json"],
        [*words, valued.flags[-1]],
        [*words, "-t"],
        [*words, "--nosuch", "--help"],
        [*words, "extra", "--nosuch"],
    ]
    if any(not place.optional for place in verb.positionals):
        lines.append([*verb.path])
        lines.append([*verb.path, "--json", *words[len(verb.path) : -1]])
    return lines


SOUND = [
    ["task", "list"],
    ["task", "list", "--ready", "-v", "--json"],
    ["task", "list", "--status", "pending", "--status=failed"],
    ["-t", "a", "task", "list"],
    ["task", "-t", "a", "list"],
    ["--team=a", "task", "list", "-tb"],
    ["-ta", "task", "list", "-vq"],
    ["-q", "status", "-vtdemo"],
    ["-v", "-t", "a", "task", "-q", "show", "7", "--json"],
    ["task", "list", "-t=a"],
    ["task", "claim"],
    ["task", "claim", "7", "--as", "w1"],
    ["task", "claim", "--as=w1", "7"],
    ["task", "claim", "--as", "--json", "7"],
    ["task", "complete", "7", "--token", "184/k3v9qd7m.w1.cli", "--result", "", "--unverified"],
    ["send", "w1", "-"],
    ["send", "w1", "--", "-t is no option here"],
    ["send", "", ""],
    ["send", "w1", "hi", "--summary", "a b", "--as", "w2"],
    ["send", "*", "日本 🙂"],
    ["mail", "w1", "--all", "-f"],
    ["mail", "--unread", "w1"],
]


@pytest.mark.parametrize("argv", SOUND, ids=" ".join)
def test_both_parsers_read_the_same_arguments(argv: list[str]) -> None:
    """A handler cannot tell which parser called it."""
    assert by_fast(argv) == by_click(argv)
    assert isinstance(by_fast(argv), dict)


@pytest.mark.parametrize("argv", [line for verb in FAST for line in faults(verb)], ids=" ".join)
def test_both_parsers_find_the_same_fault(argv: list[str]) -> None:
    """Code, sentence and details of a usage error do not depend on the parser."""
    assert by_fast(argv) == by_click(argv)
    assert by_fast(argv)[0] == "error"


@pytest.mark.parametrize(
    "argv",
    [
        ["task", "list", "--status", "done"],
        ["task", "list", "--status", ""],
        ["task", "list", "--status", "bad", "extra"],
    ],
    ids=" ".join,
)
def test_both_parsers_refuse_the_same_choices(argv: list[str]) -> None:
    """A bad value is named with the valid ones."""
    assert by_fast(argv) == by_click(argv)
    assert by_fast(argv)[1] == "bad_value"


@pytest.mark.parametrize("flag", ["-h", "--help", "-vh"])
@pytest.mark.parametrize("verb", FAST, ids=lambda verb: verb.label)
def test_both_parsers_show_the_same_help(verb: Verb, flag: str) -> None:
    """Help wins over missing arguments and bad values, not over unknown flags."""
    assert by_fast([*verb.path, flag]) == by_click([*verb.path, flag]) == ("help", render_verb(verb))


def test_numbers_are_read_alike() -> None:
    """No fast verb has a number today; a table that gains one keeps both parsers in step."""
    wait = find_verb(("task", "wait"))
    assert wait is not None
    for text in ("3", "0.5", "0"):
        argv = ["task", "wait", "--timeout", text]
        assert by_click(argv) == fast.parse(wait, argv[2:])
    for text in ("x", "-1", "nan", "inf", "1e400", ""):
        argv = ["task", "wait", "--timeout", text]
        with pytest.raises(SwarmError) as raised:
            fast.parse(wait, argv[2:])
        error = raised.value
        assert by_click(argv) == ("error", error.code, error.message, error.details)


def test_a_verb_that_is_not_fast_is_left_to_click() -> None:
    """The fast parser answers only for what it knows by itself."""
    for argv in (
        [],
        ["-h"],
        ["task"],
        ["task", "add", "x"],
        ["spawn"],
        ["-vq", "status"],
        ["-t"],
        ["nosuch"],
    ):
        assert fast.find_fast(argv) is None
