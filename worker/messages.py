"""Messages and blocks as the Messages API spells them, and the rules an array of them must keep.

They stay plain dicts: what a model sent goes back to it byte for byte, so it is never parsed into more.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from swarm.core import tags, transcript

Message = dict[str, Any]
Block = dict[str, Any]

MISSING_START = "(The beginning of this conversation is not available.)"

THOUGHTS = ("thinking", "redacted_thinking")
"""Blocks that a model signs: they go back as they came, after exactly what they came after, or not at all."""

UNPARSED = "unparsed_input"
"""Stands in the input of a call whose JSON was damaged or cut off: only an object can be sent back."""


def text_block(text: str) -> Block:
    return {"type": "text", "text": text}


def tool_use(tool_use_id: str, name: str, tool_input: dict[str, Any]) -> Block:
    return {"type": "tool_use", "id": tool_use_id, "name": name, "input": tool_input}


def tool_result(tool_use_id: str, content: str, *, is_error: bool = False) -> Block:
    return {"type": "tool_result", "tool_use_id": tool_use_id, "content": content, "is_error": is_error}


def unparsed_input(raw: str) -> dict[str, Any]:
    """Return the input of a call that is no JSON object; no tool takes it."""
    return {UNPARSED: raw}


def interrupted_result(tool_use_id: str, *, started: bool = True) -> Block:
    """Return the answer to a call that was cut off, in the words that a transcript is read back with."""
    return transcript.interrupted_result(tool_use_id, started=started)


def is_interrupted(result: Block) -> bool:
    """Tell whether a result is the answer to a call that was cut off."""
    return transcript.is_interrupted(result)


def user_message(*blocks: Block | str) -> Message:
    """Return a user message; a plain text becomes a text block."""
    return {"role": "user", "content": [text_block(b) if isinstance(b, str) else b for b in blocks]}


def assistant_message(*blocks: Block | str) -> Message:
    """Return an assistant message; a plain text becomes a text block."""
    return {"role": "assistant", "content": [text_block(b) if isinstance(b, str) else b for b in blocks]}


def blocks_of(message: Message) -> list[Block]:
    """Return the blocks of a message whose content may also be one bare text."""
    content = message.get("content") or []
    return [text_block(content)] if isinstance(content, str) else list(content)


def tool_uses(message: Message) -> tuple[Block, ...]:
    return tuple(b for b in blocks_of(message) if b.get("type") == "tool_use")


def tool_results(message: Message) -> tuple[Block, ...]:
    return tuple(b for b in blocks_of(message) if b.get("type") == "tool_result")


def final_text(message: Message) -> str:
    """Return what the message says, without its calls; empty when it says nothing."""
    parts = [b.get("text", "") for b in blocks_of(message) if b.get("type") == "text"]
    return "\n\n".join(part.strip() for part in parts if part.strip())


def count_turns(messages: Iterable[Message]) -> int:
    return sum(message["role"] == "assistant" for message in messages)


def without_thoughts(messages: Iterable[Message]) -> list[Message]:
    """Return the messages without the thoughts in them; one that held nothing else is left out."""
    stripped = []
    for message in messages:
        kept = [block for block in blocks_of(message) if block.get("type") not in THOUGHTS]
        if kept:
            stripped.append({**message, "content": kept})
    return stripped


def thoughtless(messages: Sequence[Message]) -> list[Message]:
    """Return the messages in a form that a model takes without the thoughts in them.

    Calls whose results come last may not stand without the thoughts before them, so they become text.
    """
    stripped = without_thoughts(messages)
    if len(stripped) < _A_TURN or not tool_results(stripped[-1]):
        return stripped
    *earlier, asked, given = stripped
    calls = {call["id"]: f"{call.get('name')} {json.dumps(call.get('input'))}" for call in tool_uses(asked)}
    return [
        *earlier,
        assistant_message(*(_as_text(one, calls) for one in blocks_of(asked))),
        user_message(*(_as_text(one, calls) for one in blocks_of(given))),
    ]


_A_TURN = 2


def _as_text(given: Block, calls: Mapping[str, str]) -> Block:
    match given.get("type"):
        case "tool_use":
            return text_block(f"[I called {calls[given['id']]}]")
        case "tool_result":
            said = requoted(str(given.get("content")))
            return text_block(
                tags.block(tags.TOOL_OUTPUT, said, call=calls.get(given["tool_use_id"], "a call"))
            )
        case _:
            return given


def requoted(content: str) -> str:
    """Return the content of a result as a part of a text: tags in it, ours too, are only quoted there."""
    return tags.tool_text(tags.as_meant(content))


def repair_pairing(messages: Sequence[Message]) -> list[Message]:
    """Return an array that any model accepts, whatever was cut off in this one; a valid one comes back equal.

    It starts with the user and alternates; each call has exactly one result, in the next message, in the
    order of the calls and before any text there. A call without a result is answered as interrupted, a result
    without its call is dropped, and so is blank text. Nothing given is changed in place.
    """
    repaired: list[Message] = []
    for message in _merged_users(messages):
        (_append_user if message["role"] == "user" else _append_assistant)(repaired, message)
    _close(repaired)
    return repaired


def _merged_users(messages: Sequence[Message]) -> list[Message]:
    merged: list[Message] = []
    for message in map(_without_blanks, messages):
        if not blocks_of(message):
            continue
        if merged and message["role"] == merged[-1]["role"] == "user":
            merged[-1] = user_message(*blocks_of(merged[-1]), *blocks_of(message))
        else:
            merged.append(message)
    return merged


def _without_blanks(message: Message) -> Message:
    kept = [b for b in blocks_of(message) if not _is_blank(b)]
    return message if kept == message.get("content") else {**message, "content": kept}


def _is_blank(block: Block) -> bool:
    return block.get("type") == "text" and not str(block.get("text", "")).strip()


def _append_user(repaired: list[Message], message: Message) -> None:
    open_calls = tool_uses(repaired[-1]) if repaired else ()
    given: dict[str, Block] = {}
    for block in tool_results(message):
        given.setdefault(block["tool_use_id"], block)
    answers = [given.get(call["id"]) or interrupted_result(call["id"]) for call in open_calls]
    others = [b for b in blocks_of(message) if b.get("type") != "tool_result"]
    if answers or others:
        repaired.append({**message, "content": [*answers, *others]})


def _append_assistant(repaired: list[Message], message: Message) -> None:
    _close(repaired)
    if not repaired:
        repaired.append(user_message(MISSING_START))
    if repaired[-1]["role"] == "assistant":
        message = assistant_message(*blocks_of(repaired.pop()), *blocks_of(message))
    repaired.append(message)


def _close(repaired: list[Message]) -> None:
    """Answer the calls of a last assistant message that nothing follows."""
    calls = tool_uses(repaired[-1]) if repaired and repaired[-1]["role"] == "assistant" else ()
    if calls:
        repaired.append(user_message(*(interrupted_result(call["id"]) for call in calls)))
