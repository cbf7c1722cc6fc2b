"""JSON as one compact line: what journals, event logs, histories and transcripts are made of."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

_READABLE = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode
_ASCII = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"), allow_nan=False).encode


def compact(value: object) -> bytes:
    """Return `value` as UTF-8 JSON without spaces or line end; numbers that JSON lacks are a ValueError."""
    try:
        return _READABLE(value).encode()
    except UnicodeEncodeError:  # half of a surrogate pair, which only an escape can carry
        return _ASCII(value).encode()


def json_line(value: object) -> bytes:
    """Return `compact(value)` and a line end."""
    return compact(value) + b"\n"


def parse_object(raw: bytes | str) -> Mapping[str, Any]:
    """Return the JSON object in `raw`; anything else is a ValueError."""
    value = json.loads(raw)
    if not isinstance(value, dict):
        raise ValueError(f"not an object: {type(value).__name__}")
    return value
