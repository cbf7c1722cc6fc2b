"""The three files of an inbox: the array, the overflow beside it, the history behind it.

Whoever changes one of them holds the inbox lock.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Any

from swarm.core.jsontext import json_line, parse_object
from swarm.core.message import Message, parse_message, parse_messages, render_message
from swarm.errors import CorruptStateError
from swarm.storage import files, network, syscalls
from swarm.storage.layout import TeamLayout

DAMAGED = ".damaged-"
"""Between the name of an array and the time when it was set aside."""

_PLAIN = re.compile(r"[A-Za-z0-9_.-]+", re.ASCII)
"""Ids that stand in a file as they are, whoever wrote it."""


class InboxFiles:
    """Reading and replacing, without any rule about what may be where."""

    def __init__(self, layout: TeamLayout, name: str) -> None:
        self.array_path = layout.inbox(name)
        self.overflow_path = layout.overflow(name)
        self.history_path = layout.history(name)

    def remove_drafts(self) -> None:
        """Remove what a sender or owner that was killed left beside the array."""
        files.remove_drafts(self.array_path, self.overflow_path)

    def load_array(self) -> list[Any]:
        """Return the array as parsed; CorruptStateError when the file holds no array."""
        found = files.find_json(self.array_path)
        if found is not None and not isinstance(found, list):
            raise CorruptStateError(self.array_path, "it holds no array")
        return found or []

    def set_aside(self) -> tuple[str, ...]:
        """Return the paths of arrays that were damaged and are kept, oldest first."""
        folder, name = os.path.split(self.array_path)
        entries = sorted(syscalls.list_folder(folder))
        return tuple(f"{folder}/{entry}" for entry in entries if entry.startswith(name + DAMAGED))

    def load_overflow(self) -> list[Message]:
        """Return what waits in whole lines beside the array."""
        return [m for _, line in files.read_lines(self.overflow_path) if (m := _parse(line)) is not None]

    def load_history(self) -> list[Message]:
        return [m for _, line in files.read_lines(self.history_path) if (m := _parse(line)) is not None]

    def last_batch(self) -> tuple[list[Message], list[bytes]]:
        """Return what was written to the history last, in one go: messages, and lines that are none."""
        messages: list[Message] = []
        others: list[bytes] = []
        for line in files.read_lines_backwards(self.history_path):
            message = _parse(line)
            if message is None:
                others += [] if messages else [line + b"\n"]
            elif messages and message.acked_at != messages[-1].acked_at:
                break
            else:
                messages.append(message)
        return messages[::-1], others

    def is_waiting(self, msg_id: str) -> bool:
        """Tell whether a message of this id is in the array or in the overflow."""
        if any(isinstance(item, dict) and item.get("msg_id") == msg_id for item in self.load_array()):
            return True
        return any(_is_of(line, msg_id) for _, line in files.read_lines(self.overflow_path))

    def search_history(self, msg_id: str, offset: int = 0) -> int | None:
        """Return None when the history has this id at or after `offset`, else where its whole lines end.

        A file that is shorter by now was pruned in between, and is searched from the start.
        """
        if offset > _size(self.history_path):
            offset = 0
        for position, line in files.read_lines(self.history_path, offset):
            if _is_of(line, msg_id):
                return None
            offset = position + len(line) + 1
        return offset

    def has_overflow(self) -> bool:
        found = network.find_stat_anew(self.overflow_path)
        return found is not None and found.st_size > 0

    def waiting_bytes(self) -> int:
        return _size(self.array_path) + _size(self.overflow_path)

    def write_array(self, data: bytes) -> None:
        files.write_bytes(self.array_path, data)

    def append_overflow(self, line: bytes) -> None:
        files.append_line(self.overflow_path, line)

    def write_overflow(self, messages: Sequence[Message]) -> None:
        """Replace the overflow; an empty one is no file."""
        if messages:
            files.write_bytes(self.overflow_path, b"".join(render_line(message) for message in messages))
        else:
            syscalls.unlink(self.overflow_path)

    def append_history(self, lines: Sequence[bytes]) -> None:
        if lines:
            files.append_lines(self.history_path, lines)


def render_line(message: Message) -> bytes:
    return json_line(render_message(message))


def split_array(array: Sequence[Any]) -> tuple[list[Message], list[Any]]:
    """Return the messages in an array, and the items that are none."""
    try:
        return list(parse_messages(array)), []
    except ValueError:
        good = [item for item in array if _is_message(item)]
        return list(parse_messages(good)), [item for item in array if not _is_message(item)]


def _is_message(item: Any) -> bool:
    try:
        parse_message(item)
    except (ValueError, AttributeError):
        return False
    return True


def _parse(line: bytes) -> Message | None:
    try:
        return parse_message(parse_object(line))
    except (ValueError, RecursionError):
        return None


def _is_of(line: bytes, msg_id: str) -> bool:
    """Tell whether a line is the message of this id; most lines need no parsing for that."""
    if _PLAIN.fullmatch(msg_id) and msg_id.encode() not in line:
        return False
    message = _parse(line)
    return message is not None and message.msg_id == msg_id


def _size(path: str) -> int:
    found = syscalls.find_stat(path)
    return 0 if found is None else found.st_size
