"""What the server has sent: signatures and calls, which must come back as they went out."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from collections.abc import Sequence
from typing import Any

from tests.support.messages_api.render import Body, compact
from tests.support.messages_api.reply import Block, Reply
from tests.support.messages_api.shapes import RefusalError

THOUGHTS = ("thinking", "redacted_thinking")
_MODIFIED = (
    "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. "
    "These blocks must remain as they were in the original response."
)


class Issued:
    """Signs thinking, numbers calls, and knows both again."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._thoughts: set[str] = set()
        self._turn_of_call: dict[str, tuple[str, list[Block]]] = {}
        self._paused: set[str] = set()

    def complete(self, answer: Reply, model: str, number: int) -> Reply:
        """Return this answer with ids and signatures, and remember them; `number` makes them unique."""
        blocks = tuple(_complete(block, number, at) for at, block in enumerate(answer.blocks, start=1))
        kept = [{key: b[key] for key in b if key != "raw_input"} for b in blocks]
        with self._lock:
            self._thoughts.update(compact(b) for b in kept if b["type"] in THOUGHTS)
            for block in kept:
                if block["type"] == "tool_use":
                    self._turn_of_call[block["id"]] = (model, kept)
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
        with self._lock:
            for number, message in enumerate(messages):
                if message["role"] != "assistant":
                    continue
                latest = number > opened
                if latest and thinks:
                    self._check_complete(body["model"], message["content"], number)
                self._check_known(message["content"], number, latest=latest)

    def _check_known(self, content: Sequence[Block], number: int, *, latest: bool) -> None:
        for at, block in enumerate(content):
            if block["type"] in THOUGHTS and compact(_ordered(block)) not in self._thoughts:
                kind = block["type"]
                why = _MODIFIED if latest else f"Invalid `signature` in `{kind}` block"
                raise RefusalError(f"messages.{number}.content.{at}: {why}")

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
        return {"type": "tool_use", "id": f"toolu_{number:04}_{at}", **block}
    if block["type"] == "thinking" and "signature" not in block:
        return {**block, "signature": _sign(f"{number}/{at}/{block['thinking']}")}
    return block


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
