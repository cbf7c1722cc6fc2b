"""What a session that goes on must know of the one that was cut off, beside its messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from swarm.values import Value
from worker.messages import Block, tool_uses
from worker.session.history import of_chain
from worker.session.transcript import Line

SETBACKS = ("verify_failed", "hook")
"""Kinds of the notes that say why work that was handed in came back; the model is told in the next line."""


class Begun(Value):
    """A call that was started by an answer which never became complete; `result` if it had ended."""

    call: Block
    result: Block | None


def begun_calls(lines: Sequence[Line], session: str) -> tuple[Begun, ...]:
    """Return the calls of a session, and of those it goes on from, that stand in none of its messages."""
    own = of_chain(lines, session)
    told = {call["id"] for line in own if line["type"] == "assistant" for call in tool_uses(line["message"])}
    results = {line["block"]["tool_use_id"]: line["block"] for line in own if line["type"] == "result"}
    calls = [line["block"] for line in own if line["type"] == "call"]
    return tuple(Begun(call=one, result=results.get(one["id"])) for one in calls if one["id"] not in told)


def ended_by_model(lines: Sequence[Line], session: str) -> tuple[str, str] | None:
    """Return how the model ended its task in a session or those it goes on from: status and reason.

    None when it did not, or when the work came back since and the model was told why.
    """
    ending: tuple[str, str] | None = None
    calls: dict[str, Block] = {}
    came_back = False
    for line in of_chain(lines, session):
        match line["type"]:
            case "call":
                calls[line["block"]["id"]] = line["block"]
            case "assistant":
                calls |= {call["id"]: call for call in tool_uses(line["message"])}
            case "result":
                ending = _ending_of(calls.get(line["block"]["tool_use_id"]), line["block"]) or ending
            case "note":
                came_back = came_back or line["what"] in SETBACKS
            case "user" if came_back:
                ending, came_back = None, False
            case "start":
                came_back = False
    return ending


def _ending_of(call: Block | None, result: Block) -> tuple[str, str] | None:
    if call is None or call["name"] != "TaskUpdate" or result.get("is_error"):
        return None
    status = call["input"].get("status")
    return (status, str(call["input"].get("reason") or "")) if status in ("completed", "failed") else None


def files_seen(lines: Sequence[Line], session: str) -> Mapping[str, str]:
    """Return the files that a session, or those it goes on from, saw or wrote, with the digests they had."""
    own = [line["seen"] for line in of_chain(lines, session) if line["type"] == "result" and "seen" in line]
    return {str(seen["path"]): str(seen["digest"]) for seen in own}


def began_since(lines: Sequence[Line], task_id: str, then: str) -> bool:
    """Tell whether a session for this task began after this time."""
    return any(
        line["type"] == "start" and line.get("task") == task_id and str(line["time"]) > then for line in lines
    )


def last_time(lines: Sequence[Line], session: str) -> str:
    """Return when the last line of this session was written."""
    return max((str(line["time"]) for line in lines if line["session"] == session), default="")


def prompt_of(lines: Sequence[Line], session: str) -> Mapping[str, Any] | None:
    """Return the `prompt` that a session began with; None when its first line tells none."""
    starts = (line for line in lines if line["type"] == "start" and line["session"] == session)
    found = next(starts, {}).get("prompt")
    return found if isinstance(found, dict) else None
