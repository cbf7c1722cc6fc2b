"""The body of a request, with the marks up to which the service is to keep what it has read.

A pure function of the request: the same conversation gives the same bytes, and each request begins with
all that the one before it held. Services read tools, then system, then messages.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from worker.messages import THOUGHTS, Block, Message, blocks_of
from worker.model.port import ModelRequest

MARK: dict[str, Any] = {"type": "ephemeral"}
MARKS_MAX = 4
"""More than this many marks in one request are refused."""

_REACH = 15
"""A mark finds what was kept at most 20 blocks before it; from this many new ones on, one more is set."""


def request_body(request: ModelRequest, *, caching: bool = True) -> dict[str, Any]:
    """Return what is sent.

    Marks stand at the end of the common and of the particular instructions, at the end of the last message
    and, after a turn of many blocks, where the last mark of the request before was.
    """
    system: list[Block] = [{"type": "text", "text": text} for text in request.system if text.strip()]
    messages = [{"role": message["role"], "content": blocks_of(message)} for message in request.messages]
    if caching:
        system = [{**block, "cache_control": MARK} for block in system]
        _mark_messages(messages, MARKS_MAX - len(system))
    body = {
        "model": request.model,
        "max_tokens": request.max_tokens,
        "system": system,
        "tools": request.tools,
        "messages": messages,
        "stream": True,
    }
    return {name: value for name, value in body.items() if value not in ([], None)}


def _mark_messages(messages: list[Message], left: int) -> None:
    """Mark the last message, and the last one of the request before where it is out of reach."""
    if not messages or left < 1:
        return
    _mark_last_block(messages, len(messages) - 1)
    before = len(messages) - 3  # since then came one answer of the model and one of ours
    added = sum(len(message["content"]) for message in messages[before + 1 :])
    if before >= 0 and left > 1 and added >= _REACH:
        _mark_last_block(messages, before)


def _mark_last_block(messages: list[Message], at: int) -> None:
    content: Sequence[Block] = messages[at]["content"]
    places = [place for place, block in enumerate(content) if block.get("type") not in THOUGHTS]
    if places:
        marked = {**content[places[-1]], "cache_control": MARK}
        messages[at]["content"] = [*content[: places[-1]], marked, *content[places[-1] + 1 :]]


def sent_bytes(request: ModelRequest) -> int:
    """Return how long the input of a request is, as UTF-8. No token is shorter than a byte."""
    parts: list[Any] = [request.tools, list(request.system), request.messages]
    return sum(len(json.dumps(part, ensure_ascii=False).encode()) for part in parts)
