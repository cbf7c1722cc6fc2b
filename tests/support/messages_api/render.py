"""A request as the row of pieces that the model reads: tools, then system, then messages.

This is what a prompt cache compares: each piece with its bytes, but without its mark.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from typing import Any

from swarm.values import Value

Body = dict[str, Any]
CHARS_PER_TOKEN = 4


class Piece(Value):
    """One block: where it stands (as in `messages.2.content.0`), its kind, bytes, size and mark."""

    where: str
    kind: str
    data: bytes
    tokens: int
    ttl: str | None = None
    can_be_marked: bool = True


def estimate(content: str) -> int:
    """Return about how many tokens this text has."""
    return -(-len(content) // CHARS_PER_TOKEN)


def compact(data: Any) -> str:
    """Return JSON with its keys in the order that they came in."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))


def blocks_of(content: Any) -> list[Any]:
    """Return the blocks of a content that may also be one bare text."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return list(content or [])


def merged(messages: Sequence[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[int]]:
    """Return the messages with neighbours of one role made one, and the positions that were merged away."""
    result: list[dict[str, Any]] = []
    gone: list[int] = []
    for position, message in enumerate(messages):
        blocks = blocks_of(message["content"])
        if result and result[-1]["role"] == message["role"]:
            result[-1]["content"] += blocks
            gone.append(position)
        else:
            result.append({"role": message["role"], "content": blocks})
    return result, gone


def render(body: Body) -> list[Piece]:
    """Return the pieces of a request that is valid, a top-level mark put where it falls."""
    pieces = [*_tools(body), *_system(body), *_messages(body)]
    automatic = body.get("cache_control")
    if automatic:
        last = max((n for n, piece in enumerate(pieces) if piece.can_be_marked), default=None)
        if last is not None and pieces[last].ttl is None:
            pieces[last] = pieces[last].replace(ttl=ttl_of(automatic))
    return pieces


def settings(body: Body) -> bytes:
    """Return what is no block and still part of every prefix: a change here leaves no entry to be found.

    How far a change of `thinking` or effort reaches depends on the model; the widest reach is taken here.
    """
    names = ("model", "thinking", "output_config", "tool_choice", "speed")
    return compact({name: body.get(name) for name in names}).encode()


def prefix_hashes(body: Body, pieces: Sequence[Piece]) -> list[bytes]:
    """Return for each piece the hash of everything up to its end."""
    digest = hashlib.sha256(settings(body))
    hashes = []
    for piece in pieces:
        digest.update(len(piece.data).to_bytes(8, "big") + piece.data)
        hashes.append(digest.digest())
    return hashes


def ttl_of(mark: dict[str, Any]) -> str:
    return str(mark.get("ttl") or "5m")


def _tools(body: Body) -> Iterator[Piece]:
    for number, tool in enumerate(body.get("tools") or ()):
        yield _piece(f"tools.{number}", "tool", tool, lead="tool:")


def _system(body: Body) -> Iterator[Piece]:
    for number, block in enumerate(blocks_of(body.get("system"))):
        yield _piece(f"system.{number}", "text", block, lead="system:")


def _messages(body: Body) -> Iterator[Piece]:
    messages, _ = merged(body["messages"])
    for number, message in enumerate(messages):
        for at, block in enumerate(message["content"]):
            where = f"messages.{number}.content.{at}"
            yield _piece(where, block["type"], block, lead=f"{number}:{message['role']}:")


def _piece(where: str, kind: str, block: dict[str, Any], *, lead: str) -> Piece:
    bare = _without_marks(block)
    said = str(bare["text"]) if kind == "text" else compact(bare)
    mark = block.get("cache_control") or _inner_mark(block)
    can_be_marked = "thinking" not in kind and bool(kind != "text" or said.strip())
    return Piece(
        where=where,
        kind=kind,
        data=(lead + compact(bare)).encode("utf-8", "surrogatepass"),
        tokens=estimate(said),
        ttl=ttl_of(mark) if mark else None,
        can_be_marked=can_be_marked,
    )


def _without_marks(block: dict[str, Any]) -> dict[str, Any]:
    bare = {key: value for key, value in block.items() if key != "cache_control"}
    if bare.get("type") == "tool_result" and isinstance(bare.get("content"), list):
        bare["content"] = [_without_marks(inner) for inner in bare["content"]]
    return bare


def _inner_mark(block: dict[str, Any]) -> dict[str, Any] | None:
    """Return the mark of a block inside of a result, which is one piece with it."""
    inner = block.get("content")
    if block.get("type") != "tool_result" or not isinstance(inner, list):
        return None
    marks: list[dict[str, Any]] = [b["cache_control"] for b in inner if b.get("cache_control")]
    return marks[-1] if marks else None
