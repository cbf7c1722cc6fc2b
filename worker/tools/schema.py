"""The JSON Schema of a tool's input, as the Messages API takes it: short, and the same in every process."""

from __future__ import annotations

from typing import Any

from worker.tools.contract import Tool

_DROPPED = frozenset({"title"})


def input_schema(tool: Tool[Any]) -> dict[str, Any]:
    """Return the schema from which `Input` itself validates, without what says nothing to a model."""
    made = tool.Input.model_json_schema(by_alias=True)
    properties = {name: _tidy(schema) for name, schema in made.get("properties", {}).items()}
    required = {"required": made["required"]} if made.get("required") else {}
    return {"type": "object", "properties": properties, **required, "additionalProperties": False}


def _tidy(schema: dict[str, Any]) -> dict[str, Any]:
    """An optional parameter is one that may be left out, not one that may be null."""
    kept = {key: value for key, value in schema.items() if key not in _DROPPED}
    choices = kept.pop("anyOf", [])
    if kept.get("default", choices) is None:
        del kept["default"]
    for choice in choices:
        if choice.get("type") != "null":
            kept = _tidy(choice) | kept
    return kept
