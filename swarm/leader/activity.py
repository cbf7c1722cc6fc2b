"""What an agent is doing right now, read from the end of its transcript."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from swarm.storage import files, syscalls
from swarm.values import Value

_TAIL_BYTES = 64 * 1024
_MAIN_INPUT = ("command", "file_path", "pattern", "path", "to", "subject", "taskId", "skill", "url")


class Activity(Value):
    """The newest thing an agent said and the newest tool it called; empty when there is none.

    `is_running`: the tool has not given its result yet.
    """

    said: str = ""
    tool: str = ""
    target: str = ""
    is_running: bool = False


class TranscriptTail:
    """Follows one transcript. Each look reads what was added since the last one, and at most 64 KiB."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._file: tuple[int, int] | None = None
        self._offset = 0
        self._activity = Activity()
        self._call: str | None = None

    def look(self) -> Activity:
        """Return what the session that is written now, or was last, has come to."""
        state = syscalls.find_stat(self._path)
        if state is None:
            return Activity()
        found = state.st_ino, state.st_dev
        if found != self._file or state.st_size < self._offset:
            self._file, self._offset, self._activity, self._call = found, 0, Activity(), None
        if state.st_size > self._offset:
            self._offset = max(self._offset, state.st_size - _TAIL_BYTES)  # a line cut by this does not parse
            for position, raw in files.read_lines(self._path, self._offset):
                self._offset = position + len(raw) + 1
                self._take(raw)
        return self._activity

    def _take(self, raw: bytes) -> None:
        try:
            line = json.loads(raw)
            kind = line["type"]
            if kind == "start":
                self._activity, self._call = Activity(), None
            elif kind == "assistant":
                for block in line["message"]["content"]:
                    self._take_block(block)
            elif kind == "call":
                self._take_block(line["block"])
            elif kind == "result" and line["block"]["tool_use_id"] == self._call:
                self._activity = self._activity.replace(is_running=False)
        except (ValueError, RecursionError, LookupError, TypeError, AttributeError):
            return  # half a line, or one that is not ours

    def _take_block(self, block: Mapping[str, Any]) -> None:
        if block["type"] == "tool_use":
            given = block["input"]
            target = next((_one_line(given[key]) for key in _MAIN_INPUT if given.get(key)), "")
            seen = block["id"] == self._call and not self._activity.is_running  # its result came first
            self._call = block["id"]
            self._activity = self._activity.replace(
                tool=str(block["name"]), target=target, is_running=not seen
            )
        elif block["type"] == "text" and (said := _one_line(block["text"])):
            self._activity = self._activity.replace(said=said)


def _one_line(value: object) -> str:
    return " ".join(str(value).split())
