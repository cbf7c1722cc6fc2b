"""A question and its answer in words: who wanted what, why not, and which rule would allow it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from swarm.core.permission import Resolution

_MAIN_INPUT = ("command", "file_path", "pattern", "path")
_SHOWN_CHARS = 120
_WORDS = {"allow": "allowed", "deny": "denied", "expired": "not answered in time"}


def word_of(outcome: str) -> str:
    """Return an outcome as a person says it."""
    return _WORDS.get(outcome, outcome.replace("_", " "))


def call_of(request: Mapping[str, Any]) -> str:
    """Return the call that was asked about, in one line."""
    given = request.get("input") or {}
    target = next((str(given[key]) for key in _MAIN_INPUT if given.get(key)), "")
    target = " ".join(target.split())
    if len(target) > _SHOWN_CHARS:
        target = target[:_SHOWN_CHARS] + "…"
    return f"{request.get('tool')}({target})" if target else str(request.get("tool"))


def describe_denied(request: Mapping[str, Any]) -> str:
    """Return one line about a permission request that was denied."""
    why = str(request.get("why", "")).rstrip(".")
    rule = request.get("suggested_rule")
    hint = f"; this rule would allow it: {rule}" if rule else ""
    return f"{request.get('agent')}, task {request.get('task')}: {call_of(request)}: {why}{hint}"


def refused(answers: Iterable[Resolution]) -> tuple[Resolution, ...]:
    """Return those that were not yes: each call once, and not at all if it was allowed later."""
    found: dict[str, Resolution] = {}
    for answer in answers:
        call = f"{(answer.request or {}).get('task')} {answer.digest}"
        if answer.outcome == "allow":
            found.pop(call, None)
        else:
            found.setdefault(call, answer)
    return tuple(found.values())


def describe_answer(resolution: Resolution) -> str:
    """Return one line about a question that was not answered by yes."""
    said = (
        f"; {resolution.by} said: {resolution.note}" if resolution.note and resolution.via == "human" else ""
    )
    told = "denied to" if resolution.outcome == "deny" else f"{word_of(resolution.outcome)}:"
    return f"{told} {describe_denied(resolution.request or {})}{said}"
