"""Typed access to the fields of parsed JSON objects; a wrong type is a `ValueError` that names the field.

Every record keeps what it does not know: `rest` returns those fields, and rendering puts them back.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

EMPTY: Mapping[str, Any] = {}
"""Default of the fields that hold unknown keys; never changed."""


def wrong(key: str, wanted: str, got: object) -> ValueError:
    return ValueError(f"{key} should be {wanted}, not {type(got).__name__}")


def an_object(value: object, what: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise wrong(what, "an object", value)
    return value


def text(obj: Mapping[str, Any], key: str) -> str:
    value = obj.get(key)
    if not isinstance(value, str):
        raise wrong(key, "text", value)
    return value


def optional_text(obj: Mapping[str, Any], key: str) -> str | None:
    value = obj.get(key)
    if value is not None and not isinstance(value, str):
        raise wrong(key, "text", value)
    return value


def text_or_empty(obj: Mapping[str, Any], key: str) -> str:
    return optional_text(obj, key) or ""


def integer(obj: Mapping[str, Any], key: str, default: int | None = None) -> int:
    value = obj.get(key, default)
    if not isinstance(value, int) or isinstance(value, bool):
        raise wrong(key, "a whole number", value)
    return value


def optional_integer(obj: Mapping[str, Any], key: str) -> int | None:
    return None if obj.get(key) is None else integer(obj, key)


def optional_flag(obj: Mapping[str, Any], key: str) -> bool | None:
    value = obj.get(key)
    if value is not None and not isinstance(value, bool):
        raise wrong(key, "true or false", value)
    return value


def texts(obj: Mapping[str, Any], key: str) -> tuple[str, ...]:
    """Return a list of texts; absent counts as empty."""
    value = obj.get(key)
    if value is None:
        return ()
    if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
        raise wrong(key, "a list of texts", value)
    return tuple(value)


def mapping(obj: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """Return an object; absent counts as empty."""
    value = obj.get(key)
    return EMPTY if value is None else an_object(value, key)


def rest(obj: Mapping[str, Any], known: frozenset[str]) -> Mapping[str, Any]:
    """Return the fields that are not `known`, in their order."""
    if obj.keys() <= known:
        return EMPTY
    return {key: value for key, value in obj.items() if key not in known}


def present(**fields: Any) -> dict[str, Any]:
    """Return the fields that are not None: an absent field is left out, never null."""
    return {key: value for key, value in fields.items() if value is not None}
