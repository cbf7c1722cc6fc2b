"""YAML text to plain data, with the line of every value.

Works on the parser's events, without recursion: depth and aliases cannot exhaust stack or memory.
Only `true` and `false` are booleans, only decimal numbers are numbers, and keys are always text: a subject
that reads `No` or a key `010` stays what it was.
"""

from __future__ import annotations

import re
from typing import Any

import yaml
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    NodeEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from swarm.teamfile.documents import DEPTH_MAX, VALUES_MAX, Document, checked, too_deep, unreadable
from swarm.teamfile.problems import Path, Problem

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]{0,18})")
_FLOAT = re.compile(r"[-+]?[0-9]+\.[0-9]*([eE][-+][0-9]+)?")
_WORDS: dict[str, bool | None] = {"": None, "~": None}
for _word, _meaning in (("null", None), ("true", True), ("false", False)):
    _WORDS |= {_word: _meaning, _word.capitalize(): _meaning, _word.upper(): _meaning}
_TEXT_TAG = "tag:yaml.org,2002:str"


def parse_yaml(text: str) -> Document:
    """Read one YAML document; a key given twice keeps its first value and is a problem."""
    builder = _Builder()
    try:
        for event in yaml.parse(text, Loader=_LOADER):
            builder.feed(event)
    except yaml.YAMLError as error:
        return unreadable(*_syntax_error(error, text))
    except _Refused as refused:
        return refused.document
    return checked(builder.data, builder.problems, builder.lines)


def _syntax_error(error: yaml.YAMLError, text: str) -> tuple[str, int | None]:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    told = getattr(error, "problem", None) or getattr(error, "reason", None) or str(error)
    if mark is not None:
        return f"not valid YAML: {told}", mark.line + 1
    position = getattr(error, "position", 0)
    return f"not valid YAML: {told}", text.count("\n", 0, position) + 1


class _Refused(Exception):  # noqa: N818 - never leaves this module
    def __init__(self, document: Document) -> None:
        super().__init__(document)
        self.document = document


class _Frame:
    """A list or mapping that is still open."""

    def __init__(
        self, holder: list[Any] | dict[str, Any], path: Path, anchor: str | None, count: int
    ) -> None:
        self.holder = holder
        self.path = path
        self.anchor = anchor
        self.count_before = count
        self.key: str | None = None
        self.key_lines: dict[str, int] = {}


class _Builder:
    """Takes the events of one document in order; `data` is complete after the last."""

    def __init__(self) -> None:
        self.data: Any = None
        self.lines: dict[Path, int] = {}
        self.problems: list[Problem] = []
        self._open: list[_Frame] = []
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._count = 0
        self._documents = 0

    def feed(self, event: Event) -> None:
        if isinstance(event, DocumentStartEvent):
            self._start_document(_line(event))
        elif isinstance(event, (MappingEndEvent, SequenceEndEvent)):
            self._close()
        elif isinstance(event, NodeEvent):
            self._take(event, _line(event))

    def _start_document(self, line: int) -> None:
        self._documents += 1
        if self._documents > 1:
            raise _Refused(unreadable("a second document starts here; a team file holds one", line))

    def _take(self, event: NodeEvent, line: int) -> None:
        frame = self._open[-1] if self._open else None
        if frame is not None and isinstance(frame.holder, dict) and frame.key is None:
            self._take_key(frame, event, line)
        elif isinstance(event, (MappingStartEvent, SequenceStartEvent)):
            self._open_holder(event, line)
        else:
            self._place(self._scalar_or_alias(event, line), line)

    def _take_key(self, frame: _Frame, event: NodeEvent, line: int) -> None:
        if not isinstance(event, ScalarEvent):
            raise _Refused(unreadable("a key must be plain text", line))
        frame.key = event.value
        path = (*frame.path, event.value)
        if event.value in frame.key_lines:
            message = f"this key stands here twice, in lines {frame.key_lines[event.value]} and {line}"
            self.problems.append(Problem(message=message, path=path, line=line))
        frame.key_lines.setdefault(event.value, line)
        self.lines.setdefault(path, line)

    def _open_holder(self, event: NodeEvent, line: int) -> None:
        self._refuse_tag(event, line)
        if len(self._open) >= DEPTH_MAX:
            raise _Refused(too_deep())
        holder: list[Any] | dict[str, Any] = {} if isinstance(event, MappingStartEvent) else []
        path = self._next_path(line)
        self._open.append(_Frame(holder, path, event.anchor, self._count))

    def _close(self) -> None:
        frame = self._open.pop()
        if frame.anchor is not None:
            self._anchors[frame.anchor] = (frame.holder, self._count - frame.count_before + 1)
        self._place(frame.holder, self.lines[frame.path])

    def _next_path(self, line: int) -> Path:
        if not self._open:
            path: Path = ()
        else:
            frame = self._open[-1]
            here = len(frame.holder) if isinstance(frame.holder, list) else str(frame.key)
            path = (*frame.path, here)
        self.lines.setdefault(path, line)
        return path

    def _place(self, value: Any, line: int) -> None:
        self._grow(1, line)
        self._next_path(line)
        if not self._open:
            self.data = value
            return
        frame = self._open[-1]
        if isinstance(frame.holder, list):
            frame.holder.append(value)
        else:
            frame.holder.setdefault(str(frame.key), value)
            frame.key = None

    def _grow(self, values: int, line: int) -> None:
        self._count += values
        if self._count > VALUES_MAX:
            raise _Refused(
                unreadable(f"the file holds more than {VALUES_MAX} values, aliases written out", line)
            )

    def _scalar_or_alias(self, event: NodeEvent, line: int) -> Any:
        if isinstance(event, AliasEvent):
            return self._alias(str(event.anchor), line)
        self._refuse_tag(event, line)
        value = _scalar(event)
        if event.anchor is not None:
            self._anchors[event.anchor] = (value, 1)
        return value

    def _alias(self, name: str, line: int) -> Any:
        if name not in self._anchors:
            why = (
                "holds itself"
                if any(frame.anchor == name for frame in self._open)
                else "is not defined above"
            )
            raise _Refused(unreadable(f"*{name} {why}", line))
        value, count = self._anchors[name]
        self._grow(count, line)
        return value

    def _refuse_tag(self, event: NodeEvent, line: int) -> None:
        tag = getattr(event, "tag", None)
        if tag is not None and tag not in ("!", _TEXT_TAG):
            message = f"the tag {tag} is not allowed; write plain text, numbers, lists and mappings"
            raise _Refused(unreadable(message, line))


def _scalar(event: NodeEvent) -> Any:
    text: str = getattr(event, "value", "")
    plain = isinstance(event, ScalarEvent) and event.implicit[0] and event.tag is None
    return plain_value(text) if plain else text


def plain_value(text: str) -> Any:
    """What this text means when it stands without quotes."""
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _FLOAT.fullmatch(text) else text


def _line(event: Event) -> int:
    return event.start_mark.line + 1 if event.start_mark else 1
