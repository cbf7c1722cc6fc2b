"""A transcript as a person reads it: what an agent was told, said and did."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from swarm.core.breaking import hanging
from swarm.core.permission import PLAN_TOOL
from swarm.core.shown import local_time, paint, printable, printable_lines
from swarm.core.transcript import not_permitted

_SHORT = 200
_PROMPT_LINES = 6
_TELLING = ("command", "file_path", "pattern", "path", "subject", "to", "taskId")


class TranscriptPage:
    """The lines of one transcript, in their order; it knows which tool each result belongs to.

    `when` says how a time is shown; by default as the whole date. `columns`: how wide the terminal is, where
    there is one.
    """

    def __init__(
        self,
        *,
        color: bool,
        when: Callable[[str], str] = local_time,
        columns: Callable[[], int | None] = lambda: None,
    ) -> None:
        self._color = color
        self._when = when
        self._columns = columns
        self._margin = 0
        self._tools: dict[str, str] = {}
        self._renderers = {
            "start": self._start,
            "user": self._user,
            "assistant": self._assistant,
            "result": self._result,
            "note": self._note,
            "end": self._end,
        }

    def shown(self, raw: bytes) -> list[str]:
        """Return the lines that one transcript line is shown as; none if it cannot be understood."""
        try:
            line = json.loads(raw)
            when = self._when(line["time"])
            self._margin = len(when) + 2
            return list(self._renderers[line["type"]](line, when))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return []

    def _start(self, line: Mapping[str, Any], when: str) -> Iterator[str]:
        task = f"task {line['task']}, " if line.get("task") else ""
        about = f"{task}session {line['session']} ({line['cause']}, model {line['model']})"
        yield from self._rows(printable(f"{when}  == {about}"), "bold")

    def _user(self, line: Mapping[str, Any], when: str) -> Iterator[str]:
        lines = printable_lines("\n".join(_texts(line["message"]["content"]))).split("\n")
        if len(lines) > _PROMPT_LINES:
            lines = [*lines[:_PROMPT_LINES], f"... {len(lines) - _PROMPT_LINES} more lines"]
        for number, shown in enumerate(lines):
            yield from self._rows(f"{when if number == 0 else ' ' * len(when)}  > {shown}", "dim")

    def _assistant(self, line: Mapping[str, Any], when: str) -> Iterator[str]:
        content = line["message"]["content"]
        for text in _texts(content):
            first, *others = printable_lines(text).split("\n")
            yield from self._rows(f"{when}  {first}")
            for other in others:
                yield from self._rows(f"{' ' * len(when)}  {other}")
        for block in content if isinstance(content, list) else ():
            if block.get("type") == "tool_use":
                self._tools[block["id"]] = block["name"]
                yield from self._rows(f"{when}  * {_call(block)}", "cyan")
                for row in _plan(block):
                    yield from self._rows(f"{' ' * len(when)}    {row}")

    def _result(self, line: Mapping[str, Any], when: str) -> Iterator[str]:
        block = line["block"]
        tool = self._tools.get(block["tool_use_id"], "result")
        failed = bool(block.get("is_error"))
        said = _telling_line("\n".join(_texts(block.get("content") or "")))
        if not (failed and said.startswith(not_permitted(tool))):
            said = f"{tool} failed: {said}" if failed else f"{tool}: {said}"
        shown = printable(f"{when}    {said} [{line['elapsed_seconds']:.1f}s]")
        yield from self._rows(shown, "red" if failed else "dim")

    def _note(self, line: Mapping[str, Any], when: str) -> Iterator[str]:
        yield from self._rows(f"{when}  ! {printable(line['what'])}: {printable(line['text'])}", "yellow")

    def _end(self, line: Mapping[str, Any], when: str) -> Iterator[str]:
        yield from self._rows(printable(f"{when}  == {line['outcome']} ({line['why']})"), "bold")

    def _rows(self, text: str, style: str = "") -> Iterator[str]:
        for row in hanging(text, self._columns(), self._margin):
            yield paint(row, style, enabled=self._color)


def _telling_line(text: str) -> str:
    """Return the first line that says something, and how many others there are."""
    lines = text.strip("\n").split("\n")
    first = next((line for line in lines if any(map(str.isalnum, line))), lines[0])
    more = f" (+{len(lines) - 1} lines)" if len(lines) > 1 else ""
    return _shortened(" ".join(first.split())) + more


def _texts(content: Any) -> list[str]:
    if isinstance(content, str):
        return [content]
    return [block["text"] for block in content if block.get("type") == "text"]


def _call(block: Mapping[str, Any]) -> str:
    """Return a tool call in one line: its name and the argument that tells most."""
    given = block.get("input") or {}
    if _plan(block):
        return printable(block["name"])
    telling = next((given[key] for key in _TELLING if key in given), None)
    if telling is None:
        telling = json.dumps(given, ensure_ascii=False) if given else ""
    return printable(f"{block['name']} {_shortened(str(telling))}".rstrip())


def _plan(block: Mapping[str, Any]) -> list[str]:
    """Return the lines of a plan that is handed in: it is there to be read."""
    plan = (block.get("input") or {}).get("plan") if block["name"] == PLAN_TOOL else None
    return printable_lines(plan.strip()).split("\n") if isinstance(plan, str) and plan.strip() else []


def _shortened(text: str) -> str:
    return text if len(text) <= _SHORT else text[:_SHORT] + "…"
