"""A denied call in words: who wanted what, why not, and which rule would allow it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_MAIN_INPUT = ("command", "file_path", "pattern", "path")
_SHOWN_CHARS = 120


def describe_denied(request: Mapping[str, Any]) -> str:
    """Return one line about a permission request that was denied."""
    given = request.get("input") or {}
    target = next((str(given[key]) for key in _MAIN_INPUT if given.get(key)), "")
    target = " ".join(target.split())
    if len(target) > _SHOWN_CHARS:
        target = target[:_SHOWN_CHARS] + "…"
    call = f"{request.get('tool')}({target})" if target else str(request.get("tool"))
    why = str(request.get("why", "")).rstrip(".")
    rule = request.get("suggested_rule")
    hint = f"; this rule would allow it: {rule}" if rule else ""
    return f"{request.get('agent')}, task {request.get('task')}: {call}: {why}{hint}"
