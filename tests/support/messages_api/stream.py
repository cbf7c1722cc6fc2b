"""An answer as the events of a stream, cut where a careless reader would stumble."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from tests.support.messages_api.issued import Issued
from tests.support.messages_api.render import compact, estimate
from tests.support.messages_api.reply import Block, Reply

Event = dict[str, Any]
PING: Event = {"type": "ping"}
ODD_CUTS_MAX = 60
_COUNTERS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")


def plan_events(answer: Reply, message: Mapping[str, Any], usage: Mapping[str, Any]) -> list[Event]:
    """Return all events of the answer, pings included; `message` is the start, without content and usage."""
    events: list[Event] = [
        {"type": "message_start", "message": {**message, "usage": {**usage, "output_tokens": 1}}}
    ]
    for index, block in enumerate(answer.blocks):
        opening, *rest = _block_events(index, block)
        events += [opening, *([PING] if index == 0 else []), *rest]
    if not answer.blocks:
        events.append(PING)
    stop_reason = answer.stops_for()
    delta = {"stop_reason": stop_reason, "stop_sequence": None, "stop_details": stop_details(stop_reason)}
    return [
        *events,
        {"type": "message_delta", "delta": delta, "usage": {name: usage[name] for name in _COUNTERS}},
        {"type": "message_stop"},
    ]


def event_types(answer: Reply) -> list[str]:
    """Return the types of the events of this answer, to find the place for a fault."""
    usage = dict.fromkeys(_COUNTERS, 0)
    complete = Issued().complete(answer, {"model": "", "messages": []}, 1)
    return [event["type"] for event in plan_events(complete, {}, usage)]


def stop_details(stop_reason: str) -> dict[str, Any] | None:
    if stop_reason != "refusal":
        return None
    return {"type": "refusal", "category": None, "explanation": None}


def output_tokens(answer: Reply) -> int:
    """Return about how much the model wrote; even nothing is one token."""
    written = [_input_text(0, b) if b["type"] == "tool_use" else _said(b) for b in answer.blocks]
    return max(1, sum(map(estimate, written)))


def finished(block: Block) -> Block:
    """Return the block as an answer that is not streamed holds it."""
    return {name: value for name, value in block.items() if name != "raw_input"}


def to_wire(event: Event) -> bytes:
    return f"event: {event['type']}\ndata: {compact(event)}\n\n".encode()


def packets(data: bytes) -> tuple[bytes, bytes]:
    """Cut the bytes of one event in two, if possible inside a character."""
    wide = next((at for at, byte in enumerate(data) if byte >= 0x80), None)
    at = len(data) // 2 if wide is None else wide + 1
    return data[:at], data[at:]


def pieces(content: str) -> list[str]:
    """Cut a text in pieces that grow, and also before and after what is not ASCII or is escaped."""
    cuts, size, at = {0, len(content)}, 1, 1
    while at < len(content):
        cuts.add(at)
        size = min(size * 2, 4096)
        at += size
    odd = (cut for match in _ODD.finditer(content) for cut in (match.start(), match.start() + 1))
    cuts.update(cut for cut, _ in zip(odd, range(ODD_CUTS_MAX), strict=False))
    return [content[start:end] for start, end in pairwise(sorted(cuts))]


_ODD = re.compile(r"[^\x00-\x7f]|\\|(?<=\\u)[0-9a-f]")


def _block_events(index: int, block: Block) -> Iterator[Event]:
    kind = block["type"]
    yield {"type": "content_block_start", "index": index, "content_block": _opening(block)}
    for delta in _DELTAS[kind](index, block):
        yield {"type": "content_block_delta", "index": index, "delta": delta}
    yield {"type": "content_block_stop", "index": index}


def _opening(block: Block) -> Block:
    empty = {"text": "", "thinking": "", "signature": "", "input": {}}
    bare = finished(block)
    return {name: empty.get(name, value) for name, value in bare.items()}


def _text_deltas(_index: int, block: Block) -> Iterator[Event]:
    for piece in pieces(block["text"]):
        yield {"type": "text_delta", "text": piece}


def _thinking_deltas(_index: int, block: Block) -> Iterator[Event]:
    for piece in pieces(block["thinking"]):
        yield {"type": "thinking_delta", "thinking": piece}
    yield {"type": "signature_delta", "signature": block["signature"]}


def _call_deltas(index: int, block: Block) -> Iterator[Event]:
    for piece in ("", *pieces(_input_text(index, block))):
        yield {"type": "input_json_delta", "partial_json": piece}


_DELTAS = {
    "text": _text_deltas,
    "thinking": _thinking_deltas,
    "redacted_thinking": lambda _index, _block: iter(()),
    "tool_use": _call_deltas,
}


def _input_text(index: int, block: Block) -> str:
    """Return the input's JSON, which is nothing for no input; every second block escapes all but ASCII."""
    if "raw_input" in block:
        return str(block["raw_input"])
    if not block["input"]:
        return ""
    plain = compact(block["input"])
    return plain if index % 2 else "".join(_escaped(char) for char in plain)


def _escaped(char: str) -> str:
    if char.isascii():
        return char
    units = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


def _said(block: Block) -> str:
    return str(block.get("text") or block.get("thinking") or block.get("data") or "")
