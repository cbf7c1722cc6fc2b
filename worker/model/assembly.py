"""Puts one answer of the Messages API together from the events of its stream. Pure: events in, blocks out.

Blocks are built as plain dicts and hold exactly what came: a signed thought that is sent back changed is
refused.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NoReturn

from worker.messages import Block, Message, unparsed_input
from worker.model.port import BlockDone, TextDelta, TurnDone

COUNTERS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
"""What a service counts for an answer; one that it leaves out counts as 0."""

_DEPTH_MAX = 100
_GROWING = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}


class BrokenAnswerError(Exception):
    """The events make no sense: one of them is missing or damaged."""


class Assembly:
    """One answer on its way. `feed` it each event in turn."""

    def __init__(self) -> None:
        self._open: dict[int, _Open] = {}
        self._done: dict[int, Block] = {}
        self._usage: dict[str, int] = {}
        self._stop_reason = ""
        self._model = ""
        self._begun = False
        self._received = 0
        self.is_complete = False

    @property
    def usage(self) -> dict[str, int]:
        """What the service has counted so far, all four counters."""
        return {name: self._usage.get(name, 0) for name in COUNTERS}

    @property
    def has_begun(self) -> bool:
        """Whether the service has begun to answer, and so counts."""
        return self._begun

    @property
    def received_chars(self) -> int:
        """How much of the answer has come, in characters."""
        return self._received

    def feed(self, event: Mapping[str, Any]) -> tuple[TextDelta | BlockDone, ...]:
        """Take in one event and return what it means. Kinds that are not known are passed over."""
        try:
            return self._feed(event)
        except (KeyError, TypeError, AttributeError) as error:
            raise BrokenAnswerError(f"an event of it is damaged ({type(error).__name__}: {error})") from None

    def turn(self) -> TurnDone:
        """Return the complete turn."""
        return TurnDone(
            message=self._message(), stop_reason=self._stop_reason, usage=self.usage, model=self._model
        )

    def _message(self) -> Message:
        kept = [self._done[at] for at in sorted(self._done)]
        return {"role": "assistant", "content": kept}

    def _feed(self, event: Mapping[str, Any]) -> tuple[TextDelta | BlockDone, ...]:
        match event["type"]:
            case "message_start":
                self._begun = True
                self._model = str(event["message"].get("model") or "")
                self._count(event["message"].get("usage"))
            case "content_block_start":
                self._start(event["index"], event["content_block"])
            case "content_block_delta":
                return self._grow(event["index"], event["delta"])
            case "content_block_stop":
                return (BlockDone(block=self._close(event["index"])),)
            case "message_delta":
                self._stop_reason = str(event["delta"].get("stop_reason") or self._stop_reason)
                self._count(event.get("usage"))
            case "message_stop":
                self._stop()
        return ()

    def _count(self, usage: Mapping[str, Any] | None) -> None:
        """Take over the counters; they are totals, so the last word counts."""
        for name in COUNTERS:
            value = (usage or {}).get(name)
            if isinstance(value, int):
                self._usage[name] = value

    def _start(self, index: int, block: Mapping[str, Any]) -> None:
        if not self._begun or index in self._open or index in self._done:
            self._broken(f"block {index} starts out of turn")
        self._open[index] = _Open(block)

    def _grow(self, index: int, delta: Mapping[str, Any]) -> tuple[TextDelta, ...]:
        if index not in self._open:
            self._broken(f"block {index} grows before it starts")
        kind = delta["type"]
        piece = self._open[index].grow(kind, delta)
        self._received += len(piece)
        return (TextDelta(text=piece),) if kind == "text_delta" and piece else ()

    def _close(self, index: int) -> Block:
        if index not in self._open:
            self._broken(f"block {index} ends before it starts")
        block = self._open.pop(index).close()
        self._done[index] = block
        return block

    def _stop(self) -> None:
        if not self._begun or self._open or not self._stop_reason:
            self._broken("it ends in the middle of a block, or without saying why")
        self.is_complete = True

    def _broken(self, why: str) -> NoReturn:
        raise BrokenAnswerError(why)


class _Open:
    """A block that still grows."""

    def __init__(self, block: Mapping[str, Any]) -> None:
        self._block = dict(block)
        self._grown: dict[str, list[str]] = {}
        self._json: list[str] = []

    def grow(self, kind: str, delta: Mapping[str, Any]) -> str:
        """Add a piece and return it."""
        if kind == "input_json_delta":
            piece: str = delta["partial_json"]
            self._json.append(piece)
            return piece
        field = _GROWING.get(kind)
        if field is None:
            return ""
        piece = delta[field]
        self._grown.setdefault(field, []).append(piece)
        return piece

    def close(self) -> Block:
        for field, pieces in self._grown.items():
            self._block[field] = _joined([str(self._block.get(field) or ""), *pieces])
        if self._block.get("type") == "tool_use":
            self._block = {**_sendable(self._block | {"input": None}), "input": self._input()}
        return self._block

    def _input(self) -> dict[str, Any]:
        raw = _joined(self._json)
        if not raw.strip():
            given = self._block.get("input")
            return _sendable(given) if isinstance(given, dict) and not _is_too_deep(given) else {}
        try:
            parsed = json.loads(raw, parse_constant=_no_number)
        except (ValueError, RecursionError):
            return unparsed_input(raw)
        if not isinstance(parsed, dict) or _is_too_deep(parsed):
            return unparsed_input(raw)
        sendable: dict[str, Any] = _sendable(parsed)
        return sendable


def _is_too_deep(value: Any) -> bool:
    """Whether something is nested so deeply that working with it would exhaust the stack."""
    level = [value]
    for _ in range(_DEPTH_MAX):
        level = [
            inner
            for one in level
            if isinstance(one, dict | list)
            for inner in (one.values() if isinstance(one, dict) else one)
        ]
        if not level:
            return False
    return True


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON")


def _joined(pieces: list[str]) -> str:
    """Join pieces; halves of a character that came in two of them are put together, lone ones replaced."""
    return _whole("".join(pieces))


def _whole(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _sendable(value: Any) -> Any:
    if isinstance(value, str):
        return _whole(value)
    if isinstance(value, list):
        return [_sendable(one) for one in value]
    if isinstance(value, dict):
        return {_whole(key): _sendable(one) for key, one in value.items()}
    return value
