"""What is wrong with a command line, said once for both parsers; how an option's text becomes its value."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from swarm.errors import ConfigError

if TYPE_CHECKING:
    from swarm.cli.grammar import Option, Positional, Verb

_NUMBERS: dict[str, tuple[type[int | float], float, str]] = {
    "int": (int, 1, "a whole number, 1 or more"),
    "float": (float, 0, "a number of seconds, 0 or more"),
    "usd": (float, 0.000001, "an amount in US dollars, such as 5 or 0.50"),
}
_NUMBER_LIMITS = {"usd": 10**9 + 1}
_NUMBER_LIMIT = 10**12


def unknown_option(verb: Verb, flag: str) -> ConfigError:
    """The error for a flag that the verb does not have; one that is known but not built is named so."""
    if flag in verb.not_built:
        return not_built(f"{verb.label} {flag}", flag)
    known = [known for option in verb.all_options for known in option.flags]
    return _misuse(f"{verb.label} has no option {flag}", verb, _guess(flag, known))


def unknown_verb(prefix: tuple[str, ...], word: str, known: Iterable[str]) -> ConfigError:
    label = " ".join(("swarm", *prefix))
    hint = _guess(word, known) or f"see {label} --help"
    return ConfigError(f"{label} has no verb {word!r}; {hint}", code="bad_usage", details={"value": word})


def not_built(what: str, value: str) -> ConfigError:
    """The error for a verb, option or value that a later version will have."""
    return ConfigError(
        f"{what} is not built yet; leave it out, or see swarm --help for what there is",
        code="not_built",
        details={"value": value},
    )


def missing_argument(verb: Verb, positional: Positional) -> ConfigError:
    return _misuse(f"{verb.label} needs {positional.metavar}", verb)


def extra_argument(verb: Verb, value: str) -> ConfigError:
    return _misuse(f"{verb.label} takes no further argument {value!r}", verb)


def missing_value(verb: Verb, flag: str) -> ConfigError:
    return _misuse(f"{flag} of {verb.label} needs a value", verb)


def needless_value(verb: Verb, flag: str) -> ConfigError:
    return _misuse(f"{flag} of {verb.label} takes no value", verb)


def convert(label: str, option: Option, text: str) -> Any:
    """Return the value of an option's text; `label` is the verb, for the error (bad_value)."""
    if option.kind == "choice":
        return _choice(label, option, text)
    if option.kind in _NUMBERS:
        return _number(label, option, text)
    return text


def _choice(label: str, option: Option, text: str) -> str:
    if text in option.choices:
        return text
    if text in option.not_built:
        raise not_built(f"{label} {option.label} {text}", text)
    raise ConfigError(
        f"{option.label} of {label} is {text!r}; give one of {', '.join(option.choices)}",
        code="bad_value",
        details={"option": option.label, "value": text, "valid": list(option.choices)},
    )


def _number(label: str, option: Option, text: str) -> float:
    kind, least, wanted = _NUMBERS[option.kind]
    try:
        value = kind(text)
    except ValueError:
        value = kind(-1)
    if least <= value < _NUMBER_LIMITS.get(option.kind, _NUMBER_LIMIT):  # also refuses nan and inf
        return value
    raise ConfigError(
        f"{option.label} of {label} is {text!r}; give {wanted}",
        code="bad_value",
        details={"option": option.label, "value": text},
    )


def _misuse(what: str, verb: Verb, hint: str = "") -> ConfigError:
    advice = hint or f"see {verb.label} --help"
    return ConfigError(f"{what}; {advice}", code="bad_usage", details={"verb": verb.label})


def _guess(word: str, known: Iterable[str]) -> str:
    """Return a "did you mean …?", or nothing when nothing is close."""
    import difflib

    close = difflib.get_close_matches(word, list(known), n=1)
    return f"did you mean {close[0]}?" if close else ""
