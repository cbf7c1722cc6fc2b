"""From the input of a call to a checked value, or to a text that lets the model correct it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import ValidationError

from worker.messages import UNPARSED
from worker.tools.contract import Tool, ToolInput

_SHOWN_CHARS = 80
_Details = Mapping[str, Any]

_EXPECTED: dict[str, Callable[[_Details], str]] = {
    "string_type": lambda _: "a text",
    "string_too_short": lambda ctx: f"a text of at least {ctx['min_length']} characters",
    "string_too_long": lambda ctx: f"a text of at most {ctx['max_length']} characters",
    "int_type": lambda _: "a whole number",
    "int_parsing": lambda _: "a whole number",
    "int_from_float": lambda _: "a whole number",
    "float_type": lambda _: "a number",
    "float_parsing": lambda _: "a number",
    "bool_type": lambda _: "true or false",
    "bool_parsing": lambda _: "true or false",
    "list_type": lambda _: "an array",
    "tuple_type": lambda _: "an array",
    "dict_type": lambda _: "an object",
    "mapping_type": lambda _: "an object",
    "literal_error": lambda ctx: f"one of {ctx['expected']}",
    "greater_than": lambda ctx: f"a number above {ctx['gt']}",
    "greater_than_equal": lambda ctx: f"a number of at least {ctx['ge']}",
    "less_than_equal": lambda ctx: f"a number of at most {ctx['le']}",
}
_KINDS: tuple[tuple[type, str], ...] = (
    (bool, "the boolean"),
    (str, "the text"),
    (int, "the number"),
    (float, "the number"),
    (list, "the array"),
    (dict, "the object"),
)


class InvalidInputError(Exception):
    """The input does not fit the tool's schema; the message is for the model."""


def parse_input(tool: Tool[Any], given: object) -> ToolInput:
    """Return the validated input, or raise `InvalidInputError` that names every parameter at fault."""
    if not isinstance(given, dict):
        raise InvalidInputError(
            f"{tool.name} expects an object with its parameters; received {_received(given)}."
        )
    if UNPARSED in given:
        shown = _shortened(str(given[UNPARSED]))
        raise InvalidInputError(
            f"{tool.name} was not run: its input is no JSON object, or was cut off ({shown}). Call it again "
            "with all of its input; if that is long, in smaller pieces."
        )
    broken = [name for name, value in given.items() if not _is_sendable(value)]
    if broken:
        problem = f"`{broken[0]}` should be a text of valid characters; it holds half of one"
        raise InvalidInputError(f"{tool.name} was called wrongly: {problem}.")
    try:
        parsed: ToolInput = tool.Input.model_validate(given)
    except ValidationError as error:
        problems = [_problem(tool, detail) for detail in error.errors(include_url=False)]
        raise InvalidInputError(f"{tool.name} was called wrongly: {'; '.join(problems)}.") from None
    return parsed


def _is_sendable(value: object) -> bool:
    """Tell whether all text in the value can be written as UTF-8."""
    try:
        json.dumps(value, ensure_ascii=False, default=str).encode()
    except UnicodeEncodeError:
        return False
    return True


def _problem(tool: Tool[Any], detail: Any) -> str:
    name = f"`{'.'.join(map(str, detail['loc']))}`"
    kind, context = detail["type"], detail.get("ctx", {})
    if kind == "missing":
        return f"the required parameter {name} is missing"
    if kind == "extra_forbidden":
        return f"{name} is no parameter of it; its parameters are {', '.join(parameters(tool))}"
    if kind == "value_error":
        return f"{name}: {context['error']}"
    expected = _EXPECTED[kind](context) if kind in _EXPECTED else detail["msg"]
    return f"{name} should be {expected}; received {_received(detail['input'])}"


def parameters(tool: Tool[Any]) -> list[str]:
    """Return the names of the tool's parameters as a model writes them."""
    return [field.alias or name for name, field in tool.Input.model_fields.items()]


def _received(value: object) -> str:
    if value is None:
        return "null"
    kind = next((text for known, text in _KINDS if isinstance(value, known)), "something")
    return f"{kind} {_shortened(json.dumps(value, default=str))}"


def _shortened(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARS else text[:_SHOWN_CHARS] + "…"
