"""The shapes that a request may have: fields, types, patterns. `rules` has what concerns several blocks.

Left out, and refused: `system` as a role, tools that the service runs itself, and their blocks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

TOP_LEVEL = frozenset(
    """cache_control container diagnostics inference_geo max_tokens messages metadata model output_config
    service_tier speed stop_sequences stream system thinking tool_choice tools""".split()
)
TOOL_FIELDS = frozenset(
    """name description input_schema cache_control type strict input_examples defer_loading allowed_callers
    eager_input_streaming""".split()
)
TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
CALL_ID = re.compile(r"[a-zA-Z0-9_-]+")
BATCH_OF_RESULT = ("text", "image", "document", "search_result")

# What each block must have, and may have.
_BLOCKS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "text": (("text",), ("cache_control", "citations")),
    "image": (("source",), ("cache_control",)),
    "document": (("source",), ("cache_control", "citations", "context", "title")),
    "search_result": (("source", "title", "content"), ("cache_control", "citations")),
    "thinking": (("thinking", "signature"), ()),
    "redacted_thinking": (("data",), ()),
    "tool_use": (("id", "name", "input"), ("cache_control", "caller")),
    "tool_result": (("tool_use_id",), ("cache_control", "content", "is_error")),
}
_TEXTS = ("text", "thinking", "signature", "data", "id", "name", "tool_use_id")
_THINKING = {
    "enabled": ("budget_tokens", "display"),
    "adaptive": ("display",),
    "disabled": (),
    "between_tools": (),
}
_TOOL_CHOICES = {
    "auto": ("disable_parallel_tool_use",),
    "any": ("disable_parallel_tool_use",),
    "tool": ("name", "disable_parallel_tool_use"),
    "none": (),
}
BUDGET_MINIMUM = 1024


class RefusalError(Exception):
    """What the service answers to a request that it does not take."""

    def __init__(self, message: str, *, status: int = 400) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


def check_shape(body: Mapping[str, Any]) -> None:
    """Refuse a body of which some part is not as the documentation has it, looked at by itself."""
    for name in ("model", "max_tokens", "messages"):
        if body.get(name) is None:
            raise RefusalError(f"{name}: Field required")
    _only(body, TOP_LEVEL, "")
    _of_type(body["model"], str, "model", "string")
    _whole_number(body["max_tokens"], "max_tokens", least=0)
    _check_messages(body["messages"])
    _check_system(body.get("system"))
    _check_tools(body.get("tools"))
    check_mark(body.get("cache_control"), "cache_control")
    _check_choice(body.get("thinking"), "thinking", _THINKING)
    _check_choice(body.get("tool_choice"), "tool_choice", _TOOL_CHOICES)
    _check_budget(body)
    if not isinstance(body.get("stream", False), bool):
        raise RefusalError("stream: Input should be a valid boolean")


def check_mark(mark: Any, where: str) -> None:
    if mark is None:
        return
    _of_type(mark, dict, where, "dictionary")
    _only(mark, {"type", "ttl"}, f"{where}.")
    if mark.get("type") != "ephemeral":
        raise RefusalError(f"{where}.type: Input should be 'ephemeral'")
    if mark.get("ttl", "5m") not in {"5m", "1h"}:
        raise RefusalError(f"{where}.ttl: Input should be '5m' or '1h'")


def check_text(content: str, where: str) -> None:
    if not content:
        raise RefusalError(f"{where}: text content blocks must be non-empty")
    if not content.strip():
        raise RefusalError(f"{where}: text content blocks must contain non-whitespace text")


def _check_messages(messages: Any) -> None:
    _of_type(messages, list, "messages", "list")
    if not messages:
        raise RefusalError("messages: at least one message is required")
    for number, message in enumerate(messages):
        where = f"messages.{number}"
        _of_type(message, dict, where, "dictionary")
        _only(message, {"role", "content"}, f"{where}.")
        role = message.get("role")
        if role == "system":
            raise RefusalError(
                'messages: Unexpected role "system". The Messages API accepts a top-level `system` '
                'parameter, not "system" as an input message role.'
            )
        if role not in {"user", "assistant"}:
            raise RefusalError(f"{where}.role: Input should be 'user' or 'assistant'")
        _check_content(message.get("content"), where, number)
    if messages[0]["role"] != "user":
        raise RefusalError('messages: first message must use the "user" role')


def _check_content(content: Any, where: str, number: int) -> None:
    if content is None:
        raise RefusalError(f"{where}.content: Field required")
    if not isinstance(content, (str, list)):
        raise RefusalError(f"{where}.content: Input should be a valid string or list")
    if not content:
        raise RefusalError(
            f"messages.{number}: all messages must have non-empty content "
            "except for the optional final assistant message"
        )
    if isinstance(content, str):
        check_text(content, where)
        return
    for at, block in enumerate(content):
        check_block(block, f"{where}.content.{at}", _BLOCKS)


def check_block(block: Any, where: str, allowed: Iterable[str]) -> None:
    """Refuse a block of another type than these, or with fields that its type has not."""
    _of_type(block, dict, where, "dictionary")
    kind = block.get("type")
    if kind is None:
        raise RefusalError(f"{where}.type: Field required")
    _expect_tag(kind, allowed, where)
    needed, optional = _BLOCKS[kind]
    where = f"{where}.{kind}"
    for name in needed:
        if block.get(name) is None:
            raise RefusalError(f"{where}.{name}: Field required")
        if name in _TEXTS:
            _of_type(block[name], str, f"{where}.{name}", "string")
    _only(block, {"type", *needed, *optional}, f"{where}.")
    if block.get("cache_control") and kind == "text" and not block["text"]:
        raise RefusalError(f"{where}: cache_control cannot be set for empty text blocks")
    check_mark(block.get("cache_control"), f"{where}.cache_control")
    _CHECKS.get(kind, lambda _block, _where: None)(block, where)


def _check_text_block(block: Mapping[str, Any], where: str) -> None:
    check_text(block["text"], where.removesuffix(".text"))


def _check_call(block: Mapping[str, Any], where: str) -> None:
    if not CALL_ID.fullmatch(block["id"]):
        raise RefusalError(f"{where}.id: String should match pattern '^{CALL_ID.pattern}$'")
    if not TOOL_NAME.fullmatch(block["name"]):
        raise RefusalError(f"{where}.name: String should match pattern '^{TOOL_NAME.pattern}$'")
    _of_type(block["input"], dict, f"{where}.input", "dictionary")


def _check_result(block: Mapping[str, Any], where: str) -> None:
    content = block.get("content")
    if not isinstance(block.get("is_error", False), bool):
        raise RefusalError(f"{where}.is_error: Input should be a valid boolean")
    if not content and block.get("is_error"):
        raise RefusalError(f"{where}: content cannot be empty if `is_error` is true")
    if isinstance(content, str):
        check_text(content, where.removesuffix(".tool_result"))
    elif content is not None:
        _of_type(content, list, f"{where}.content", "list")
        for at, inner in enumerate(content):
            check_block(inner, f"{where}.content.{at}", BATCH_OF_RESULT)


_CHECKS: dict[str, Callable[[Mapping[str, Any], str], None]] = {
    "text": _check_text_block,
    "tool_use": _check_call,
    "tool_result": _check_result,
}


def _check_system(system: Any) -> None:
    if system is None:
        return
    if isinstance(system, str):
        check_text(system, "system")
        return
    _of_type(system, list, "system", "list")
    for number, block in enumerate(system):
        check_block(block, f"system.{number}", ("text",))


def _check_tools(tools: Any) -> None:
    if tools is None:
        return
    _of_type(tools, list, "tools", "list")
    for number, tool in enumerate(tools):
        _check_tool(tool, f"tools.{number}")
    names = [tool["name"] for tool in tools]
    if len(set(names)) < len(names):
        raise RefusalError("tools: Tool names must be unique.")


def _check_tool(tool: Any, where: str) -> None:
    _of_type(tool, dict, where, "dictionary")
    _expect_tag(tool.get("type") or "custom", ("custom",), where)
    where = f"{where}.custom"
    _only(tool, TOOL_FIELDS, f"{where}.")
    for name in ("name", "input_schema"):
        if tool.get(name) is None:
            raise RefusalError(f"{where}.{name}: Field required")
    if not isinstance(tool["name"], str) or not TOOL_NAME.fullmatch(tool["name"]):
        raise RefusalError(f"{where}.name: String should match pattern '^{TOOL_NAME.pattern}$'")
    _of_type(tool["input_schema"], dict, f"{where}.input_schema", "dictionary")
    if tool["input_schema"].get("type") != "object":
        raise RefusalError(f"{where}.input_schema.type: Input should be 'object'")
    _of_type(tool.get("description", ""), str, f"{where}.description", "string")
    check_mark(tool.get("cache_control"), f"{where}.cache_control")


def _check_choice(value: Any, where: str, kinds: Mapping[str, tuple[str, ...]]) -> None:
    if value is None:
        return
    _of_type(value, dict, where, "dictionary")
    kind = value.get("type")
    _expect_tag(kind, kinds, where)
    _only(value, {"type", *kinds[kind]}, f"{where}.{kind}.")


def _check_budget(body: Mapping[str, Any]) -> None:
    thinking = body.get("thinking") or {}
    if thinking.get("type") != "enabled":
        return
    where = "thinking.enabled.budget_tokens"
    _whole_number(thinking.get("budget_tokens"), where, least=BUDGET_MINIMUM)
    if thinking["budget_tokens"] >= body["max_tokens"]:
        raise RefusalError("`max_tokens` must be greater than `thinking.budget_tokens`")


def _expect_tag(kind: Any, allowed: Iterable[str], where: str) -> None:
    tags = list(allowed)
    if kind not in tags:
        raise RefusalError(
            f"{where}: Input tag '{kind}' found using 'type' does not match any of the expected tags: "
            + ", ".join(f"'{tag}'" for tag in tags)
        )


def _only(data: Mapping[str, Any], names: Iterable[str], lead: str) -> None:
    for name in data:
        if name not in names:
            raise RefusalError(f"{lead}{name}: Extra inputs are not permitted")


def _of_type(value: Any, kind: type, where: str, name: str) -> None:
    if not isinstance(value, kind):
        raise RefusalError(f"{where}: Input should be a valid {name}")


def _whole_number(value: Any, where: str, *, least: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool):
        raise RefusalError(f"{where}: Input should be a valid integer")
    if value < least:
        raise RefusalError(f"{where}: Input should be greater than or equal to {least}")
