"""The lines of a transcript, and the messages of a model request that they fold into."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from swarm.core.fields import present
from swarm.values import Value

INTERRUPTED = "The tool call was interrupted before it returned a result; what it did is not known."
NOT_STARTED = "Interrupted: this call was not started."
_MARKS = (INTERRUPTED, NOT_STARTED)


def not_permitted(tool: str) -> str:
    """Return how the result of a call begins that was not allowed to run."""
    return f"{tool} was not permitted"


CLEARED = "(This result was taken out to make room. Make the call again if you need it.)"

COMPACTED = "compacted"
"""Kind of the note that results were taken out; its `data.cleared` names their calls."""


class Position(Value):
    """Where a line stands: `(session, n)` is its id, the rest says when and for what."""

    session: str
    n: int
    time: str
    run_id: str
    task: str | None = None


def _line(kind: str, at: Position, **fields: Any) -> dict[str, Any]:
    place = present(session=at.session, n=at.n, time=at.time, task=at.task, run_id=at.run_id)
    return {"type": kind, **place, **present(**fields)}


def start_line(
    at: Position,
    *,
    cause: str,
    model: str,
    parent: str | None = None,
    carried: Sequence[str] = (),
    prompt: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """First line of a session. `cause` is `claim`, `retry`, `resume`, `lead` or `mail`.

    `parent` is the session it goes on from; `carried` names mail that stands in that one and is repeated.
    """
    carried_ids = list(carried) or None
    return _line("start", at, cause=cause, model=model, parent=parent, carried=carried_ids, prompt=prompt)


def user_line(at: Position, *, message: Mapping[str, Any], msg_ids: Sequence[str] = ()) -> dict[str, Any]:
    """Prompt, mail or reminder. Text and ids of mail are in one line: a kill keeps both or neither."""
    return _line("user", at, msg_ids=list(msg_ids) or None, message=message)


def assistant_line(
    at: Position, *, message: Mapping[str, Any], stop_reason: str, usage: Mapping[str, Any]
) -> dict[str, Any]:
    """A complete answer of the model, exactly as it came."""
    return _line("assistant", at, message=message, stop_reason=stop_reason, usage=usage)


def call_line(at: Position, *, block: Mapping[str, Any]) -> dict[str, Any]:
    """A tool that starts before the answer it stands in is complete."""
    return _line("call", at, block=block)


def result_line(
    at: Position,
    *,
    block: Mapping[str, Any],
    elapsed_seconds: float,
    persisted: str | None = None,
    seen: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """A tool's result. `persisted` is where all of it lies when `block` holds only a preview.

    `seen` is the file that the call showed or wrote, as `path` and `digest` of its content.
    """
    return _line("result", at, block=block, elapsed_seconds=elapsed_seconds, persisted=persisted, seen=seen)


def note_line(at: Position, *, what: str, text: str, data: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Something that a reader must know and the model may not see."""
    return _line("note", at, what=what, text=text, data=data)


def end_line(at: Position, *, why: str, outcome: str) -> dict[str, Any]:
    """Last line: why the loop ended, and `completed`, `failed` or `released`."""
    return _line("end", at, why=why, outcome=outcome)


def message_ids(lines: Iterable[Mapping[str, Any]]) -> frozenset[str]:
    """Return the ids of all mail in these lines: what the model has been given already."""
    return frozenset(msg_id for line in lines for msg_id in line.get("msg_ids", ()))


def fold_messages(lines: Iterable[Mapping[str, Any]], session: str) -> list[dict[str, Any]]:
    """Return a session's messages as the next request sends them.

    Neighbouring `user` and `result` lines become one user message, the results first, in the order of
    their calls. A call without a result is answered as interrupted; a result without a call, and text
    that is blank, are left out: no model accepts them. What had been taken out stays out.
    """
    own = [line for line in lines if line.get("session") == session]
    cleared = _cleared_in(own)
    results: dict[str, Any] = {}
    for line in own:
        if line["type"] == "result":
            call = line["block"]["tool_use_id"]
            results.setdefault(call, cleared_result(line["block"]) if call in cleared else line["block"])
    messages: list[dict[str, Any]] = []
    for line in own:
        if line["type"] == "user":
            _append(messages, "user", _blocks(line["message"]))
        elif line["type"] == "assistant":
            blocks = _blocks(line["message"])
            _append(messages, "assistant", blocks)
            _append(messages, "user", _answers(blocks, results))
    return messages


def _append(messages: list[dict[str, Any]], role: str, blocks: list[Any]) -> None:
    if not blocks:
        return
    if messages and messages[-1]["role"] == role:
        messages[-1]["content"].extend(blocks)
    else:
        messages.append({"role": role, "content": blocks})


def _blocks(message: Mapping[str, Any]) -> list[Any]:
    content = message["content"]
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return [block for block in blocks if block.get("type") != "text" or block["text"].strip()]


def _answers(blocks: Iterable[Mapping[str, Any]], results: Mapping[str, Any]) -> list[Any]:
    calls = [block["id"] for block in blocks if block.get("type") == "tool_use"]
    return [results.get(call) or interrupted_result(call) for call in calls]


def _cleared_in(lines: Iterable[Mapping[str, Any]]) -> frozenset[str]:
    notes = (
        line.get("data") or {} for line in lines if (line["type"], line.get("what")) == ("note", COMPACTED)
    )
    return frozenset(call for data in notes for call in data.get("cleared", ()))


def cleared_result(block: Mapping[str, Any]) -> dict[str, Any]:
    """Return a result without its text."""
    return {**block, "content": CLEARED}


def interrupted_result(tool_use_id: str, *, started: bool = True) -> dict[str, Any]:
    """Return the answer to a call whose end nobody saw, or that was not even `started`."""
    content = INTERRUPTED if started else NOT_STARTED
    return {"type": "tool_result", "tool_use_id": tool_use_id, "content": content, "is_error": True}


def is_interrupted(result: Mapping[str, Any]) -> bool:
    """Tell whether this block is such an answer, and not what a tool returned.

    Only the whole text counts; the executor sees to it that no tool fails with exactly these words.
    """
    return result.get("is_error") is True and result.get("content") in _MARKS
