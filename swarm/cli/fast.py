"""The parser of the fast verbs: reads the same table as click, in a twentieth of the time.

It takes what click takes: options among the arguments, `--flag=value`, `-tTEAM`, `-vq`, and `--` before what
only looks like an option. Errors come in click's order: unknown flags, help, bad values and missing
arguments, then what is too much.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from swarm.cli import usage
from swarm.cli.grammar import GLOBALS, Option, Verb
from swarm.cli.table import VERBS, find_verb


class HelpWanted(Exception):  # noqa: N818 - a wish, not an error
    """The command line asks for the help page of this verb."""

    def __init__(self, verb: Verb) -> None:
        super().__init__(verb)
        self.verb = verb


def find_fast(argv: Sequence[str]) -> tuple[Verb, list[str]] | None:
    """Return the fast verb that `argv` starts with and the other words; None leaves the line to click."""
    before: list[str] = []
    path: tuple[str, ...] = ()
    words = list(argv)
    while words:
        taken = _leading_globals(words)
        if taken:
            before += words[:taken]
            del words[:taken]
            continue
        path += (words.pop(0),)
        verb = find_verb(path)
        if verb:
            return (verb, before + words) if verb.fast else None
        if not any(v.path[: len(path)] == path for v in VERBS):
            return None
    return None


def _leading_globals(words: list[str]) -> int:
    """Return how many of the first words are one global option with its value."""
    first = words[0]
    for option in GLOBALS:
        if option.kind == "flag" and first in option.flags:
            return 1
        if option.kind != "flag" and first in option.flags and len(words) > 1:
            return 2
    return 1 if first.startswith("--team=") or (first.startswith("-t") and not first.startswith("--")) else 0


def parse(verb: Verb, words: Sequence[str]) -> dict[str, Any]:
    """Return the arguments of `verb` by name, with defaults filled in.

    Raises:
        ConfigError: what is wrong, as click would find it.
        HelpWanted: `-h` or `--help` stands anywhere among sound options.

    """
    given, places = _Scan(verb, list(words)).run()
    if any(option.name == "help" for option, _ in given):
        raise HelpWanted(verb)
    args: dict[str, Any] = {option.name: option.default for option in (*verb.options, *GLOBALS)}
    for option, texts in _by_option(given):
        args[option.name] = _value(verb, option, texts)
    _place(args, verb, places)
    return args


def _by_option(given: list[tuple[Option, str | None]]) -> list[tuple[Option, list[str | None]]]:
    """Gather what each option was given, in the order of its first mention."""
    gathered: dict[str, tuple[Option, list[str | None]]] = {}
    for option, text in given:
        gathered.setdefault(option.name, (option, []))[1].append(text)
    return list(gathered.values())


def _value(verb: Verb, option: Option, texts: list[str | None]) -> Any:
    """Return an option's value: all of them if it may be repeated, else the last."""
    if option.kind == "flag":
        return True
    if option.multiple:
        return tuple(usage.convert(verb.label, option, text or "") for text in texts)
    return usage.convert(verb.label, option, texts[-1] or "")


def _place(args: dict[str, Any], verb: Verb, places: list[str]) -> None:
    for positional in verb.positionals:
        if positional.many:
            args[positional.name] = tuple(places)
            return
        if not places and not positional.optional:
            raise usage.missing_argument(verb, positional)
        args[positional.name] = places.pop(0) if places else None
    if places:
        raise usage.extra_argument(verb, places[0])


class _Scan:
    """One walk over the words: which options stand there with which text, and what is left."""

    def __init__(self, verb: Verb, words: list[str]) -> None:
        self._verb = verb
        self._words = words
        self._flags = {flag: option for option in verb.all_options for flag in option.flags}
        self._given: list[tuple[Option, str | None]] = []
        self._places: list[str] = []

    def run(self) -> tuple[list[tuple[Option, str | None]], list[str]]:
        while self._words:
            word = self._words.pop(0)
            if word == "--":
                self._places += self._words
                break
            if len(word) > 1 and word[0] == "-":
                self._option(word)
            else:
                self._places.append(word)
        return self._given, self._places

    def _option(self, word: str) -> None:
        flag, equals, value = word.partition("=")
        if flag in self._flags and (word.startswith("--") or not equals):
            self._take(flag, value if equals else None)
        elif word.startswith("--"):
            raise usage.unknown_option(self._verb, flag)
        else:
            self._letters(word[1:])

    def _take(self, flag: str, value: str | None) -> None:
        option = self._flags[flag]
        if option.kind == "flag":
            if value is not None:
                raise usage.needless_value(self._verb, flag)
        elif value is None:
            if not self._words:
                raise usage.missing_value(self._verb, flag)
            value = self._words.pop(0)
        self._given.append((option, value))

    def _letters(self, letters: str) -> None:
        """Take short flags that stand together; the first that wants a value takes the rest as it."""
        for at, letter in enumerate(letters, start=1):
            flag = f"-{letter}"
            if flag not in self._flags:
                raise usage.unknown_option(self._verb, flag)
            if self._flags[flag].kind != "flag":
                self._take(flag, letters[at:] or None)
                return
            self._take(flag, None)
