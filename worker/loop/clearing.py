"""Makes room in a conversation that has become too long: the oldest results of tools are taken out.

A stopgap that keeps every message valid: calls keep their results, only the text of old ones goes.
"""

from __future__ import annotations

from collections.abc import Sequence

from swarm.core.transcript import CLEARED, cleared_result
from worker.messages import Block, Message, blocks_of

_KEPT = 5
_SHARE = 4
_SHORT_CHARS = 2 * len(CLEARED)


def clear_oldest(messages: Sequence[Message]) -> tuple[tuple[Message, ...], tuple[str, ...]]:
    """Return the messages with about a quarter of their text less, and the ids of the calls cleared.

    The newest five results stay, and so do short ones; no ids when there was nothing to take out.
    """
    goal = sum(_length(block) for message in messages for block in blocks_of(message)) // _SHARE
    cleared: list[str] = []
    freed = 0
    for block in _candidates(messages):
        if freed >= goal:
            break
        cleared.append(block["tool_use_id"])
        freed += _length(block)
    gone = frozenset(cleared)
    return tuple(_without(message, gone) for message in messages), tuple(cleared)


def _candidates(messages: Sequence[Message]) -> list[Block]:
    results = [
        block for message in messages for block in blocks_of(message) if block.get("type") == "tool_result"
    ]
    return [block for block in results[:-_KEPT] if _length(block) > _SHORT_CHARS]


def _without(message: Message, gone: frozenset[str]) -> Message:
    blocks = blocks_of(message)
    if not any(block.get("tool_use_id") in gone for block in blocks):
        return message
    content = [cleared_result(block) if block.get("tool_use_id") in gone else block for block in blocks]
    return {**message, "content": content}


def _length(block: Block) -> int:
    return len(str(block.get("text") or block.get("content") or block.get("input") or ""))
