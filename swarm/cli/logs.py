"""`swarm logs NAME`: what a teammate said and did, for people; made from its transcript."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from swarm.cli.render import local_time, paint, printable, printable_lines
from swarm.cli.session import Io, the_team
from swarm.storage.files import read_lines
from swarm.storage.team import Team

_SHORT = 200
_PROMPT_LINES = 6
_TELLING = ("command", "file_path", "pattern", "path", "subject", "to", "taskId")


def logs(args: Mapping[str, Any], io: Io) -> int:
    """Print the transcript, or the output of a teammate that has none; with `--follow` go on."""
    team = the_team(args, io)
    name = team.roster.load().member(args["name"]).name
    print_new = _printer(team, name, io)
    if args["follow"]:
        from swarm.cli.follow import follow

        return follow(team, io, print_new)
    if not print_new():
        io.note(f"{name} has said nothing yet")
    return 0


def _printer(team: Team, name: str, io: Io) -> Callable[[], bool]:
    """Return a function that prints what came since its last call and tells whether there was anything."""
    positions: dict[str, int] = {}

    def print_new() -> bool:
        transcript = team.layout.transcript(name)
        path = transcript if os.path.exists(transcript) else team.layout.log(name)
        start = positions.get(path, 0)
        for offset, raw in read_lines(path, start):
            positions[path] = offset + len(raw) + 1
            for line in _shown(raw, io) if path == transcript else (printable(raw.decode(errors="replace")),):
                io.print(line)
        return positions.get(path, 0) > start

    return print_new


def _shown(raw: bytes, io: Io) -> Iterator[str]:
    """Yield the lines that one transcript line is shown as; one that does not parse is passed over."""
    try:
        line = json.loads(raw)
        kind, when = line["type"], local_time(line["time"])
        yield from _RENDERERS[kind](line, when, io)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return


def _start(line: Mapping[str, Any], when: str, io: Io) -> Iterator[str]:
    task = f"task {line['task']}, " if line.get("task") else ""
    yield paint(
        printable(f"{when}  == {task}session {line['session']} ({line['cause']}, model {line['model']})"),
        "bold",
        enabled=io.color,
    )


def _user(line: Mapping[str, Any], when: str, io: Io) -> Iterator[str]:
    text = "\n".join(_texts(line["message"]["content"]))
    lines = printable_lines(text).split("\n")
    if len(lines) > _PROMPT_LINES:
        lines = [*lines[:_PROMPT_LINES], f"... {len(lines) - _PROMPT_LINES} more lines"]
    for number, shown in enumerate(lines):
        yield paint(f"{when if number == 0 else ' ' * len(when)}  > {shown}", "dim", enabled=io.color)


def _assistant(line: Mapping[str, Any], when: str, io: Io) -> Iterator[str]:
    content = line["message"]["content"]
    for text in _texts(content):
        first, *others = printable_lines(text).split("\n")
        yield f"{when}  {first}"
        yield from (f"{' ' * len(when)}  {other}" for other in others)
    for block in content if isinstance(content, list) else ():
        if block.get("type") == "tool_use":
            yield paint(f"{when}  * {_call(block)}", "cyan", enabled=io.color)


def _result(line: Mapping[str, Any], when: str, io: Io) -> Iterator[str]:
    block = line["block"]
    text = "\n".join(_texts(block.get("content") or ""))
    first, *others = text.strip("\n").split("\n")
    more = f" (+{len(others)} lines)" if others else ""
    failed = bool(block.get("is_error"))
    mark = "error: " if failed else ""
    shown = printable(f"{when}    {mark}{_shortened(first)}{more} [{line['elapsed_seconds']:.1f}s]")
    yield paint(shown, "red" if failed else "dim", enabled=io.color)


def _note(line: Mapping[str, Any], when: str, io: Io) -> Iterator[str]:
    yield paint(f"{when}  ! {printable(line['what'])}: {printable(line['text'])}", "yellow", enabled=io.color)


def _end(line: Mapping[str, Any], when: str, io: Io) -> Iterator[str]:
    yield paint(printable(f"{when}  == {line['outcome']} ({line['why']})"), "bold", enabled=io.color)


_RENDERERS: dict[str, Callable[[Mapping[str, Any], str, Io], Iterator[str]]] = {
    "start": _start,
    "user": _user,
    "assistant": _assistant,
    "result": _result,
    "note": _note,
    "end": _end,
}


def _texts(content: Any) -> list[str]:
    if isinstance(content, str):
        return [content]
    return [block["text"] for block in content if block.get("type") == "text"]


def _call(block: Mapping[str, Any]) -> str:
    """Return a tool call in one line: its name and the argument that tells most."""
    given = block.get("input") or {}
    telling = next((given[key] for key in _TELLING if key in given), None)
    if telling is None:
        telling = json.dumps(given, ensure_ascii=False) if given else ""
    return printable(f"{block['name']} {_shortened(str(telling))}".rstrip())


def _shortened(text: str) -> str:
    return text if len(text) <= _SHORT else text[:_SHORT] + "…"
