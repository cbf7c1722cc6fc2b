"""What the server has sent: signatures and calls, which must come back as they went out.

The newest models bind a thinking block to all that came before it: tools, system and messages, but not the
marks, and not the thinking at the very start, which may be left out. All models do so here.
"""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from collections.abc import Iterator, Sequence
from typing import Any

from swarm.values import Value
from tests.support.messages_api.render import Body, compact, render
from tests.support.messages_api.reply import Block, Reply
from tests.support.messages_api.shapes import RefusalError

THOUGHTS = ("thinking", "redacted_thinking")
_MODIFIED = (
    "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. "
    "These blocks must remain as they were in the original response."
)


_BOUND = (
    "The block is bound to a different conversation. Remove the block, or set "
    '`thinking.block_binding.prefix_mismatch_behavior` to "drop_block".'
)


class _Context(Value):
    """What came before a thought: all but thinking as a hash, and the thoughts."""

    plain: bytes
    thoughts: tuple[bytes, ...]

    def holds(self, sent: _Context) -> bool:
        """Tell whether this is the context that it was sent in, or that without thoughts at its start."""
        count = len(self.thoughts)
        return self.plain == sent.plain and (not count or self.thoughts == sent.thoughts[-count:])


class Issued:
    """Signs thinking, numbers calls, and knows both again."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._thoughts: dict[str, _Context] = {}
        self._turn_of_call: dict[str, tuple[str, list[Block]]] = {}
        self._paused: set[str] = set()

    def complete(self, answer: Reply, body: Body, number: int) -> Reply:
        """Return this answer with ids and signatures, and remember them; `number` makes them unique."""
        blocks = tuple(_complete(block, number, at) for at, block in enumerate(answer.blocks, start=1))
        kept = [{key: b[key] for key in b if key != "raw_input"} for b in blocks]
        so_far = [*body["messages"], {"role": "assistant", "content": kept}]
        row = list(_contexts({**body, "messages": so_far}))
        contexts = row[len(row) - len(kept) :]
        with self._lock:
            for block, (_, context) in zip(kept, contexts, strict=True):
                if block["type"] in THOUGHTS:
                    self._thoughts[compact(block)] = context
                if block["type"] == "tool_use":
                    self._turn_of_call[block["id"]] = (body["model"], kept)
            if answer.stop_reason == "pause_turn":
                self._paused.add(_sorted(kept))
        return answer.replace(blocks=blocks)

    def paused_with(self, content: Sequence[Block]) -> bool:
        """Tell whether this is a turn that the service paused: sent back as it is, it may come last."""
        with self._lock:
            return _sorted(content) in self._paused

    def check(self, body: Body, messages: Sequence[dict[str, Any]]) -> None:
        """Refuse thinking that was never sent, and in a tool loop that is open also what was left out."""
        opened = _start_of_loop(messages)
        thinks = (body.get("thinking") or {}).get("type") != "disabled"
        contexts = dict(_contexts(body))
        with self._lock:
            for number, message in enumerate(messages):
                if message["role"] != "assistant":
                    continue
                latest = number > opened
                if latest and thinks:
                    self._check_complete(body["model"], message["content"], number)
                for at, block in enumerate(message["content"]):
                    if block["type"] in THOUGHTS:
                        where = f"messages.{number}.content.{at}"
                        self._check_thought(block, where, contexts[where], latest=latest)

    def _check_thought(self, block: Block, where: str, context: _Context, *, latest: bool) -> None:
        sent = self._thoughts.get(compact(_ordered(block)))
        invalid = f"Invalid `signature` in `{block['type']}` block"
        if sent is None:
            raise RefusalError(f"{where}: {_MODIFIED if latest else invalid}")
        if not context.holds(sent):
            raise RefusalError(f"{where}: {invalid}. {_BOUND}")

    def _check_complete(self, model: str, content: Sequence[Block], number: int) -> None:
        """Compare up to the last call of the message: what follows may have been lost with the connection."""
        calls = [block["id"] for block in content if block["type"] == "tool_use"]
        if not calls or calls[-1] not in self._turn_of_call:
            return
        sent_by, sent = self._turn_of_call[calls[-1]]
        if sent_by != model:
            return
        came, went = _until(content, calls[-1]), _until(sent, calls[-1])
        if came == went:
            return
        where = f"messages.{number}.content"
        if went and went[0].startswith("thought") and not came[0].startswith("thought"):
            raise RefusalError(
                f"{where}.0.type: Expected `thinking` or `redacted_thinking`, but found "
                f"`{content[0]['type']}`. When `thinking` is enabled, a final `assistant` message must start "
                "with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks)."
            )
        first = next((at for at, block in enumerate(content) if block["type"] in THOUGHTS), 0)
        raise RefusalError(f"{where}.{first}: {_MODIFIED}")


def _complete(block: Block, number: int, at: int) -> Block:
    if block["type"] == "tool_use" and "id" not in block:
        block = {"type": "tool_use", "id": f"toolu_{number:04}_{at}", **block}
    if block["type"] == "tool_use":
        return {**block, "caller": {"type": "direct"}}
    if block["type"] == "thinking" and "signature" not in block:
        return {**block, "signature": _sign(f"{number}/{at}/{block['thinking']}")}
    return block


def _contexts(body: Body) -> Iterator[tuple[str, _Context]]:
    """Yield place and context of each piece; blank text, which nobody may send back, is no part of any."""
    digest = hashlib.sha256()
    thoughts: list[bytes] = []
    for piece in render(body):
        yield piece.where, _Context(plain=digest.digest(), thoughts=tuple(thoughts))
        if piece.kind in THOUGHTS:
            thoughts.append(piece.data)
        elif piece.kind != "text" or piece.can_be_marked:
            digest.update(len(piece.data).to_bytes(8, "big") + piece.data)


def _sign(content: str) -> str:
    digest = hashlib.sha512(content.encode("utf-8", "surrogatepass")).digest()
    return base64.b64encode(digest + digest[:40]).decode()


def _ordered(block: Block) -> Block:
    """Return the block with its fields in the order that they were sent in: a client may sort them."""
    order = ("type", "thinking", "signature", "data")
    return {name: block[name] for name in order if name in block}


def _sorted(content: Sequence[Block]) -> str:
    return json.dumps(list(content), sort_keys=True)


def _until(content: Sequence[Block], call_id: str) -> list[str]:
    """Return the thoughts and calls up to this call, each as one text."""
    row = []
    for block in content:
        if block["type"] in THOUGHTS:
            row.append(f"thought {compact(_ordered(block))}")
        elif block["type"] == "tool_use":
            row.append(f"call {block['id']}")
            if block["id"] == call_id:
                break
    return row


def _start_of_loop(messages: Sequence[dict[str, Any]]) -> int:
    """Return where the last message of the user stands that answers no call; the loop is what follows."""
    return max(
        (
            number
            for number, message in enumerate(messages)
            if message["role"] == "user" and all(b["type"] != "tool_result" for b in message["content"])
        ),
        default=-1,
    )
