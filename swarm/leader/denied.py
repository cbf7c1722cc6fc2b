"""A question and its answer in words: who wanted what, why not, and which rule would allow it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from swarm.core.permission import Resolution
from swarm.storage.questions import was_left_open

_MAIN_INPUT = ("command", "file_path", "pattern", "path")
_SHOWN_CHARS = 120
_WORDS = {"allow": "allowed", "deny": "denied", "expired": "not answered in time"}


def word_of(answer: Resolution) -> str:
    """Return what became of a question, as a person says it."""
    if was_left_open(answer):
        return "left open"
    return _WORDS.get(answer.outcome, answer.outcome.replace("_", " "))


def call_of(request: Mapping[str, Any]) -> str:
    """Return the call that was asked about, in one line."""
    given = request.get("input") or {}
    target = next((str(given[key]) for key in _MAIN_INPUT if given.get(key)), "")
    target = " ".join(target.split())
    if len(target) > _SHOWN_CHARS:
        target = target[:_SHOWN_CHARS] + "…"
    return f"{request.get('tool')}({target})" if target else str(request.get("tool"))


def latest(answers: Iterable[Resolution]) -> tuple[Resolution, ...]:
    """Return the last answer to each call; what was only left open counts until it is asked for again."""
    found: dict[str, Resolution] = {}
    for answer in answers:
        call = f"{(answer.request or {}).get('task')} {answer.digest}"
        found.pop(call, None)
        found[call] = answer
    return tuple(found.values())


def refused(answers: Iterable[Resolution]) -> tuple[Resolution, ...]:
    """Return those that were not yes, by task: each call once, and not at all if it was allowed later."""
    return tuple(sorted((one for one in latest(answers) if one.outcome != "allow"), key=_number_of_task))


def _number_of_task(answer: Resolution) -> int:
    number = str((answer.request or {}).get("task"))
    return int(number) if number.isdecimal() else 0


def to_tell(answers: Iterable[Resolution], done: Collection[str], began: str) -> tuple[Resolution, ...]:
    """Return the refusals that the end of a run tells of: those of `done` tasks only since it `began`."""
    return tuple(
        answer
        for answer in refused(answers)
        if answer.at >= began or str((answer.request or {}).get("task")) not in done
    )


def describe_answer(answer: Resolution) -> str:
    """Return one line about a question that was not answered by yes."""
    request = answer.request or {}
    told = "denied to" if answer.outcome == "deny" else f"{word_of(answer)}:"
    what = f"{told} {request.get('agent')}, task {request.get('task')}: {call_of(request)}"
    rule = request.get("suggested_rule")
    hint = f"; this rule would allow it: {rule}" if rule and not is_settled(answer) else ""
    return f"{what}: {_cause(answer, request)}{hint}"


def is_settled(answer: Resolution) -> bool:
    """Tell whether somebody has decided against the call, or it is asked for again by itself."""
    return was_left_open(answer) or (answer.outcome == "deny" and answer.via != "runtime")


def _cause(answer: Resolution, request: Mapping[str, Any]) -> str:
    why, note = str(request.get("why", "")).rstrip("."), (answer.note or "").rstrip(".")
    if answer.outcome == "deny" and answer.via == "human":
        return f"{answer.by} said no" + (f": {note}" if note else "")
    if answer.outcome == "deny" and answer.via == "rule":
        return note or "an answer of the team file says no"
    if answer.outcome == "deny" and note:
        return f"{why}, and {note}"
    return note if was_left_open(answer) else why
