"""From plain data to a `TeamFile`: pydantic checks, its findings told in plain words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from swarm.teamfile.documents import kind_of
from swarm.teamfile.model import Budget, ModelPrice, Permissions, ScriptTurn, TaskSpec, TeamFile, TeammateSpec
from swarm.teamfile.problems import Path, Problem, closest

_PARTS: dict[str, type[BaseModel]] = {
    "": TeamFile,
    "budget": Budget,
    "permissions": Permissions,
    "script": ScriptTurn,
    "tasks": TaskSpec,
    "teammates": TeammateSpec,
}
_ALSO_SAID = {
    "agents": "teammates",
    "allowed": "allow",
    "blockedBy": "blocked_by",
    "denied": "deny",
    "depends_on": "blocked_by",
    "id": "key",
    "members": "teammates",
    "needs": "blocked_by",
    "prompt": "description",
    "text": "say",
    "title": "subject",
    "tools": "calls",
    "workdir": "workspace",
}
_LISTS = {
    "tasks": "a list of tasks",
    "teammates": "a list of teammates",
    "script": "a list of turns",
    "calls": "a list of calls, each like {Read: {file_path: README.md}}",
}


def shape(data: Any) -> TeamFile | tuple[Problem, ...]:
    """Return the team file, or every place where the data has not its shape."""
    if data is None:
        return (Problem(message="the file is empty; `swarm init` writes one to start from"),)
    try:
        return TeamFile.model_validate(data)
    except ValidationError as error:
        return _problems(error.errors(include_url=False))


def _problems(errors: list[ErrorDetails]) -> tuple[Problem, ...]:
    """All of them, but not that a key is missing where a misspelt one stands in its place."""
    meant = {(*_path(e)[:-1], _meant(e)) for e in errors if e["type"] == "extra_forbidden"}
    return tuple(_problem(e) for e in errors if not (e["type"] == "missing" and _path(e) in meant))


def _problem(found: ErrorDetails) -> Problem:
    told = _TOLD.get(found["type"])
    return Problem(message=told(found) if told else found["msg"], path=_path(found))


def _path(found: ErrorDetails) -> Path:
    return tuple(found["loc"])


def _unknown(found: ErrorDetails) -> str:
    meant = _meant(found)
    hint = f"did you mean {meant}?" if meant else f"known here: {', '.join(_fields_around(_path(found)))}"
    return f"unknown key; {hint}"


def _meant(found: ErrorDetails) -> str | None:
    key = str(found["loc"][-1])
    fields = _fields_around(_path(found))
    meant = _ALSO_SAID.get(key)
    return meant if meant in fields else closest(key, fields)


def _fields_around(path: Path) -> tuple[str, ...]:
    names = [part for part in path[:-1] if isinstance(part, str)]
    return tuple(_part_of(names).model_fields)


def _part_of(names: list[str]) -> type[BaseModel]:
    """Return what stands below these keys; below `prices` the next one is any model."""
    if len(names) > 1 and names[0] == "prices":
        return ModelPrice
    return _PARTS[names[-1] if names else ""]


def _expected_text(found: ErrorDetails) -> str:
    got = kind_of(found["input"])
    quote = "; put it in quotes" if got in ("a number", "true or false") else ""
    return f"expected text, got {got}{quote}"


def _expected_list(found: ErrorDetails) -> str:
    wanted = _LISTS.get(str(found["loc"][-1]), "a list of strings")
    got = kind_of(found["input"])
    hint = "; put it in [ ]" if got == "text" else ""
    return f"expected {wanted}, got {got}{hint}"


def _expected_mapping(found: ErrorDetails) -> str:
    names = [part for part in _path(found) if isinstance(part, str)]
    if names == ["prices"]:
        return f"expected a mapping of models to prices, got {kind_of(found['input'])}"
    keys = ", ".join(list(_part_of(names).model_fields)[:4])
    return f"expected a mapping with keys such as {keys}, got {kind_of(found['input'])}"


def _expected_number(found: ErrorDetails) -> str:
    wanted = "a whole number" if found["type"].startswith("int") else "a number"
    return f"expected {wanted}, got {_shown(found['input'])}"


def _shown(value: Any) -> str:
    return str(value) if kind_of(value) == "a number" else kind_of(value)


def _too_small(found: ErrorDetails) -> str:
    limit = found["ctx"]
    least = f"at least {limit['ge']:g}" if "ge" in limit else f"more than {limit['gt']:g}"
    return f"must be {least}, got {_shown(found['input'])}"


def _too_large(found: ErrorDetails) -> str:
    return f"must be at most {found['ctx']['le']:.0f}, got {_shown(found['input'])}"


def _one_of(found: ErrorDetails) -> str:
    given = found["input"]
    got = given if isinstance(given, str) else kind_of(given)
    return f"expected {found['ctx']['expected']}, got {got}"


def _call_shape(found: ErrorDetails) -> str:
    given = found["input"]
    got = f"a mapping of {len(given)} keys" if isinstance(given, dict) else kind_of(given)
    return f"expected one call such as {{Read: {{file_path: README.md}}}}, got {got}"


def _call_input(found: ErrorDetails) -> str:
    ((tool, given),) = found["input"].items()
    return f"expected the input of {tool} as a mapping ({{}} for none), got {kind_of(given)}"


_TOLD: dict[str, Callable[[ErrorDetails], str]] = {
    "call_input": _call_input,
    "call_shape": _call_shape,
    "dict_type": _expected_mapping,
    "extra_forbidden": _unknown,
    "float_type": _expected_number,
    "greater_than": _too_small,
    "greater_than_equal": _too_small,
    "int_from_float": _expected_number,
    "int_type": _expected_number,
    "less_than_equal": _too_large,
    "literal_error": _one_of,
    "missing": lambda _: "is missing",
    "model_type": _expected_mapping,
    "string_type": _expected_text,
    "tuple_type": _expected_list,
}
