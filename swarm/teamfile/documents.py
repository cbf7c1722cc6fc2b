"""TOML and JSON text to plain data; what all three formats share.

A document holds only what JSON can hold, at most `DEPTH_MAX` deep, with text as every key.
"""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Callable, Iterator
from typing import Any

from swarm.teamfile.problems import Path, Places, Problem
from swarm.values import Value

DEPTH_MAX = 64
VALUES_MAX = 500_000

_KINDS: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (type(None), "nothing"),
    (bool, "true or false"),
    ((int, float), "a number"),
    (str, "text"),
    ((list, tuple), "a list"),
    (dict, "a mapping"),
)


class Document(Value):
    """A file's data, with what was wrong already with the way it is written."""

    data: Any
    places: Places
    problems: tuple[Problem, ...] = ()


def kind_of(value: object) -> str:
    """What a person would call this value; bool before int, which it is too."""
    return next((name for types, name in _KINDS if isinstance(value, types)), "a date or time")


def parse_json(text: str) -> Document:
    """Read JSON; a key given twice keeps its first value and is a problem."""
    try:
        data = json.loads(text, object_pairs_hook=_Pairs, parse_constant=_refuse_constant)
    except RecursionError:
        return too_deep()
    except ValueError as error:
        return _unreadable("JSON", error)
    twice = [
        Problem(message="this key stands here twice", path=(*path, key))
        for path, value in walk(data)
        if isinstance(value, _Pairs)
        for key in value.twice
    ]
    return checked(data, twice)


def parse_toml(text: str) -> Document:
    """Read TOML, whose parser refuses a key given twice by itself."""
    try:
        data = tomllib.loads(text)
    except RecursionError:
        return too_deep()
    except ValueError as error:
        return _unreadable("TOML", error)
    return checked(data, [])


def checked(data: Any, problems: list[Problem], lines: dict[Path, int] | None = None) -> Document:
    """Make the document of this data; refuse what JSON cannot hold."""
    order: dict[Path, int] = {}
    for path, value in walk(data):
        order[path] = len(order)
        if len(path) > DEPTH_MAX:
            return too_deep()
        if wrong := _not_json(value):
            problems.append(Problem(message=wrong, path=path))
    return Document(data=data, places=Places(lines=lines or {}, order=order), problems=tuple(problems))


def walk(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Give every value with its path, in the order of the file; stops below `DEPTH_MAX`."""
    yield path, value
    if len(path) > DEPTH_MAX:
        return
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from walk(inner, (*path, key))
    elif isinstance(value, list):
        for position, inner in enumerate(value):
            yield from walk(inner, (*path, position))


def too_deep() -> Document:
    return unreadable("lists and mappings are nested too deeply")


def unreadable(message: str, line: int | None = None) -> Document:
    return Document(data=None, places=Places(), problems=(Problem(message=message, line=line),))


def _not_json(value: object) -> str | None:
    if isinstance(value, str) and ("\0" in value or _has_surrogate(value)):
        return "holds a character that no file or command can hold"
    if isinstance(value, float) and not math.isfinite(value):
        return f"expected a number, got {value}"
    if kind_of(value) == "a date or time":
        return "expected text, got a date or time; put it in quotes"
    return None


def _has_surrogate(text: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in text)


def _unreadable(name: str, error: ValueError) -> Document:
    line = getattr(error, "lineno", None) or _line_in(str(error))
    told = getattr(error, "msg", None) or re.sub(r" \(at line .*\)$", "", str(error))
    return unreadable(f"not valid {name}: {told}", line)


def _line_in(text: str) -> int | None:
    found = re.search(r"\(at line (\d+)", text)
    return int(found[1]) if found else None


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number")


class _Pairs(dict[str, Any]):
    """A JSON object that remembers which keys it was given twice."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__()
        self.twice: list[str] = []
        for key, value in pairs:
            if key in self:
                self.twice.append(key)
            else:
                self[key] = value


PARSERS: dict[str, Callable[[str], Document]] = {".json": parse_json, ".toml": parse_toml}
