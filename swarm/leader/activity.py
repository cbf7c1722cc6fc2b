"""What an agent is doing right now, read from the end of its transcript."""

from __future__ import annotations

import json
import os
from typing import Any

from swarm.values import Value

_TAIL_BYTES = 32 * 1024
_MAIN_INPUT = ("command", "file_path", "pattern", "to", "subject", "taskId")


class Activity(Value):
    """The newest thing an agent said and the newest tool it called; empty when there is none."""

    said: str = ""
    tool: str = ""
    target: str = ""


def last_activity(transcript: str) -> Activity:
    """Return the newest activity in the transcript at this path; reads at most its last 32 KiB."""
    said = tool = target = ""
    for line in reversed(_tail(transcript)):
        if line.get("type") == "start":
            break
        if line.get("type") != "assistant":
            continue
        for block in reversed(line.get("message", {}).get("content", [])):
            if block.get("type") == "tool_use" and not tool:
                tool, target = str(block.get("name", "")), _target(block.get("input", {}))
            elif block.get("type") == "text" and not said:
                said = " ".join(str(block.get("text", "")).split())
        if tool and said:
            break
    return Activity(said=said, tool=tool, target=target)


def _target(given: dict[str, Any]) -> str:
    for key in _MAIN_INPUT:
        if given.get(key):
            return " ".join(str(given[key]).split())
    return ""


def _tail(path: str) -> list[dict[str, Any]]:
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(max(0, size - _TAIL_BYTES))
            raw = file.read()
    except FileNotFoundError:
        return []
    lines = raw.split(b"\n")
    if size > _TAIL_BYTES:
        lines = lines[1:]  # the first one is cut
    return [line for line in map(_parse, lines) if line is not None]


def _parse(raw: bytes) -> dict[str, Any] | None:
    try:
        line = json.loads(raw)
    except ValueError:
        return None
    return line if isinstance(line, dict) else None
