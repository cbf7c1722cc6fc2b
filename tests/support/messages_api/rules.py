"""What must fit together in a request: calls and results, marks, and what the model thought before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from tests.support.messages_api.issued import Issued
from tests.support.messages_api.render import Body, blocks_of, merged, render, ttl_of
from tests.support.messages_api.shapes import RefusalError, check_shape

MARKS_MAX = 4
Messages = Sequence[dict[str, Any]]


def check(body: Body, issued: Issued, *, prefill: bool = False) -> None:
    """Refuse what the service refuses; `issued` knows what it sent before."""
    check_shape(body)
    messages, _ = merged(body["messages"])
    _check_marks(body)
    _check_tools(body, messages)
    _check_roles_of_blocks(messages)
    _check_pairs(messages)
    issued.check(body, messages)
    if messages[-1]["role"] == "assistant" and not issued.paused_with(messages[-1]["content"]):
        _check_end(messages[-1], prefill=prefill)


def marks_of(body: Body) -> list[tuple[str, dict[str, Any]]]:
    """Return place and content of each mark, in the order in which the service reads them."""
    return list(_marks(body))


def _marks(body: Body) -> Iterator[tuple[str, dict[str, Any]]]:
    for number, tool in enumerate(body.get("tools") or ()):
        yield from _mark_at(f"tools.{number}", tool)
    for number, block in enumerate(blocks_of(body.get("system"))):
        yield from _mark_at(f"system.{number}", block)
    for number, message in enumerate(body["messages"]):
        for at, block in enumerate(blocks_of(message["content"])):
            where = f"messages.{number}.content.{at}"
            if block["type"] == "tool_result" and isinstance(block.get("content"), list):
                for inside, inner in enumerate(block["content"]):
                    yield from _mark_at(f"{where}.content.{inside}", inner)
            yield from _mark_at(where, block)
    yield from _mark_at("top-level", body)


def _mark_at(where: str, block: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    if block.get("cache_control"):
        yield where, block["cache_control"]


def _check_marks(body: Body) -> None:
    marks = marks_of(body)
    if len(marks) > MARKS_MAX:
        raise RefusalError(
            f"A maximum of {MARKS_MAX} blocks with cache_control may be provided. Found {len(marks)}."
        )
    short = False
    for where, mark in marks:
        if ttl_of(mark) == "1h" and short:
            raise RefusalError(
                f"{where}.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' "
                "cache_control block. Note that blocks are processed in the following order: `tools`, "
                "`system`, `messages`."
            )
        short = ttl_of(mark) == "5m"
    _check_automatic(body)


def _check_automatic(body: Body) -> None:
    """Refuse a top-level mark that contradicts the one of the block that it falls on."""
    automatic = body.get("cache_control")
    can_be_marked = [piece for piece in render(body) if piece.can_be_marked]
    if automatic and can_be_marked and can_be_marked[-1].ttl != ttl_of(automatic):
        raise RefusalError(
            f"cache_control: ttl='{ttl_of(automatic)}' differs from ttl='{can_be_marked[-1].ttl}' of the "
            "last block, which it applies to"
        )


def _check_tools(body: Body, messages: Messages) -> None:
    if not body.get("tools"):
        if any(b["type"] in {"tool_use", "tool_result"} for m in messages for b in m["content"]):
            raise RefusalError("Requests which include `tool_use` or `tool_result` blocks must define tools.")
        if body.get("tool_choice"):
            raise RefusalError("tool_choice may only be specified while providing tools.")
    thinks = (body.get("thinking") or {"type": "disabled"})["type"] != "disabled"
    if thinks and (body.get("tool_choice") or {}).get("type") in {"any", "tool"}:
        raise RefusalError("Thinking may not be enabled when tool_choice forces tool use.")


def _check_roles_of_blocks(messages: Messages) -> None:
    owners = {
        "tool_use": "assistant",
        "thinking": "assistant",
        "redacted_thinking": "assistant",
        "tool_result": "user",
    }
    for number, message in enumerate(messages):
        for block in message["content"]:
            owner = owners.get(block["type"], message["role"])
            if owner != message["role"]:
                raise RefusalError(
                    f"messages.{number}: `{block['type']}` blocks can only be in `{owner}` messages"
                )


def _check_pairs(messages: Messages) -> None:
    seen: set[str] = set()
    open_calls: list[str] = []
    for number, message in enumerate(messages):
        if message["role"] == "user":
            _check_results(message["content"], number, open_calls)
            continue
        open_calls = []
        for at, block in enumerate(message["content"]):
            if block["type"] != "tool_use":
                continue
            if block["id"] in seen:
                raise RefusalError(f"messages.{number}.content.{at}: `tool_use` ids must be unique")
            seen.add(block["id"])
            open_calls.append(block["id"])
    if messages[-1]["role"] == "assistant" and open_calls:
        raise _unanswered(len(messages) - 1, open_calls)


def _check_results(content: Sequence[dict[str, Any]], number: int, open_calls: Sequence[str]) -> None:
    first_other = next((at for at, b in enumerate(content) if b["type"] != "tool_result"), len(content))
    leading = [b["tool_use_id"] for b in content[:first_other]]
    for at, block in enumerate(content):
        if block["type"] == "tool_result" and block["tool_use_id"] not in open_calls:
            raise RefusalError(
                f"messages.{number}.content.{at}: unexpected `tool_use_id` found in `tool_result` blocks: "
                f"{block['tool_use_id']}. Each `tool_result` block must have a corresponding `tool_use` "
                "block in the previous message."
            )
    given = Counter(b["tool_use_id"] for b in content if b["type"] == "tool_result")
    for call_id, times in given.items():
        if times > 1:
            raise RefusalError(
                f"messages.{number}.content: each tool_use must have a single result. "
                f"Found multiple `tool_result` blocks with id: {call_id}"
            )
    if missing := [call_id for call_id in open_calls if call_id not in leading]:
        raise _unanswered(number - 1, missing)


def _unanswered(number: int, calls: Sequence[str]) -> RefusalError:
    return RefusalError(
        f"messages.{number}: `tool_use` ids were found without `tool_result` blocks immediately after: "
        f"{', '.join(calls)}. Each `tool_use` block must have a corresponding `tool_result` block in the "
        "next message."
    )


def _check_end(last: dict[str, Any], *, prefill: bool) -> None:
    ending = last["content"][-1]
    if ending["type"] == "text" and ending["text"] != ending["text"].rstrip():
        raise RefusalError("messages: final assistant content cannot end with trailing whitespace")
    if not prefill:
        raise RefusalError(
            "This model does not support assistant message prefill. "
            "The conversation must end with a user message."
        )
