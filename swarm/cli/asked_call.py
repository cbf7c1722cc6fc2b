"""What exactly an agent wants to do, line by line: a command, a change, or a tool's whole input."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from typing import Any

from swarm.cli.asked_diff import changed, numbered
from swarm.cli.render import count
from swarm.cli.row import Row
from swarm.core.permission import PLAN_TOOL, PermissionRequest
from worker.tools.edits import EditError, replace_passage
from worker.tools.text_files import BOM, LoadedFile, UnusableFileError, load

MAX_FILE_BYTES = 1 << 20
_PLAN = frozenset({"plan"})
_BASH = frozenset({"command", "description"})
_WRITE = frozenset({"file_path", "content"})
_EDIT = frozenset({"file_path", "old_string", "new_string", "replace_all"})


def call_rows(request: PermissionRequest, *, compare: bool = True) -> Iterator[Row]:
    """Yield the call, all of it; with `compare` a file that it would change is read, to show what changes."""
    given = request.input
    if request.tool == "Bash" and _are_text(given, "command"):
        return _command(given)
    if request.tool == "Write" and _are_text(given, "file_path", "content"):
        return _write(given, request.cwd, compare=compare)
    if request.tool == "Edit" and _are_text(given, "file_path", "old_string", "new_string"):
        return _edit(given, request.cwd, compare=compare)
    if is_plan(request):
        return _plan(given)
    return _as_json(given)


def is_plan(request: PermissionRequest) -> bool:
    return request.tool == PLAN_TOOL and _are_text(request.input, "plan")


def one_line(request: PermissionRequest) -> str:
    """Return what says most about the call, for a list; it may be of several lines."""
    if is_plan(request):
        return next(filter(None, map(str.strip, request.input["plan"].split("\n"))), "")
    for key in ("command", "file_path", "path", "pattern"):
        if _are_text(request.input, key):
            return str(request.input[key])
    return json.dumps(dict(request.input), ensure_ascii=False) if request.input else ""


def touched_file(request: PermissionRequest) -> str | None:
    """Return the file that decides how the call is shown, None for a call that is shown by itself."""
    path = request.input.get("file_path")
    if request.tool not in {"Write", "Edit"} or not isinstance(path, str) or "\0" in path:
        return None
    return os.path.join(request.cwd, path)


def _are_text(given: Mapping[str, Any], *keys: str) -> bool:
    return all(isinstance(given.get(key), str) for key in keys)


def _command(given: Mapping[str, Any]) -> Iterator[Row]:
    for at, line in enumerate(given["command"].split("\n")):
        yield Row(mark="> " if at else "$ ", text=line, style="bold")
    if given.get("description"):
        yield Row(mark="# ", text=f"it says: {given['description']}", style="dim")
    yield from _rest(given, _BASH)


def _plan(given: Mapping[str, Any]) -> Iterator[Row]:
    for line in given["plan"].strip("\n").split("\n"):
        yield Row(text=line)
    yield from _rest(given, _PLAN)


def _write(given: Mapping[str, Any], cwd: str, *, compare: bool) -> Iterator[Row]:
    yield from _target(given["file_path"], cwd)
    old, why_not = _load(given["file_path"], cwd) if compare else (None, "")
    content: str = given["content"]
    if old is not None:
        after = content if "\r" in content else _like(content, old.text)
        yield from changed(old.text.removeprefix(BOM), after.removeprefix(BOM))
    else:
        what = "" if not compare else f"{why_not or 'a new file'}; "
        yield Row(text=f"{what}all of it, {count(len(content.splitlines()), 'line')}:", own=True)
        yield from numbered(content)
    yield from _rest(given, _WRITE)


def _like(content: str, old: str) -> str:
    """Return a text with the line ends that Write would give it: those of the file, where it has one kind."""
    crlf = old.count("\r\n")
    return content.replace("\n", "\r\n") if crlf and crlf == old.count("\n") == old.count("\r") else content


def _edit(given: Mapping[str, Any], cwd: str, *, compare: bool) -> Iterator[Row]:
    yield from _target(given["file_path"], cwd)
    before, after = given["old_string"], given["new_string"]
    every = given.get("replace_all") is True
    file, why_not = _load(given["file_path"], cwd) if compare else (None, None)
    why_not = why_not or ("there is no such file" if file is None else None)
    if file is not None:
        try:
            edited = replace_passage(file.text, before, after, replace_all=every)
        except EditError as error:
            why_not = f"as the file is now, this would fail, since {error.fault}"
        else:
            if every:
                yield Row(text=f"every occurrence of it, {count(edited.count, 'place')}:", own=True)
            yield from changed(file.text, edited.text)
    if why_not:
        would = f"{why_not}; what it would" if compare else "what it was to"
        yield Row(text=f"{would} replace{' everywhere' if every else ''}:", own=True)
        yield from changed(before, after, with_numbers=False)
    yield from _rest(given, _EDIT)


def _target(path: str, cwd: str) -> Iterator[Row]:
    """Yield the file's name, from the call's folder on, and where it leads if that is another place."""
    yield Row(text=path.removeprefix(cwd.rstrip("/") + "/"), style="bold")
    if "\0" in path:
        return
    meant = os.path.normpath(os.path.join(cwd, path))
    inside = os.path.relpath(meant, cwd) if meant.startswith(cwd.rstrip("/") + "/") else None
    plain = meant if inside is None else os.path.join(os.path.realpath(cwd), inside)
    real = os.path.realpath(os.path.join(cwd, path))
    if real != plain:
        yield Row(mark="-> ", text=f"leads to {real}", style="yellow")


def _load(path: str, cwd: str) -> tuple[LoadedFile | None, str | None]:
    """Return the file, or why it cannot be compared; neither when there is none."""
    place = os.path.join(cwd, path)
    if "\0" not in path and not os.path.lexists(place):
        return None, None
    try:
        return load(place, MAX_FILE_BYTES), None
    except UnusableFileError:
        return None, "the file is there, and cannot be compared (too large, no text, or not readable)"
    except (OSError, ValueError):
        return None, "the file cannot be read"


def _rest(given: Mapping[str, Any], known: frozenset[str]) -> Iterator[Row]:
    rest = {key: value for key, value in given.items() if key not in known and value is not None}
    if rest:
        yield Row(mark="with ", text=json.dumps(rest, ensure_ascii=False))


def _as_json(given: Mapping[str, Any]) -> Iterator[Row]:
    if not given:
        yield Row(text="without any input", own=True)
        return
    for line in json.dumps(dict(given), ensure_ascii=False, indent=2).split("\n"):
        yield Row(text=line)
