"""Whole files and lines: JSON replaced by rename, JSON Lines appended under the caller's lock."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from json.encoder import encode_basestring
from typing import Any

from swarm.errors import CorruptStateError, StorageIOError
from swarm.storage import network, syscalls

_CHUNK = 1 << 16
_DRAFT_END = ".tmp"
_OPENINGS = 4
_LISTS = (list, tuple)
_EMPTY: dict[type, str] = {
    dict: "{}",
    list: "[]",
    tuple: "[]",
}  # of what is not empty the code above takes care


def render_json(value: Any) -> str:
    """Return what `json.dumps(value, indent=2, ensure_ascii=False)` returns, in half the time."""
    return _render(value, "\n")


def _render(value: Any, line: str) -> str:
    kind = type(value)
    if kind is str:
        return encode_basestring(value)
    if kind is dict and value:
        inner = line + "  "
        members = [f"{encode_basestring(key)}: {_render(member, inner)}" for key, member in value.items()]
        return f"{{{inner}{f',{inner}'.join(members)}{line}}}"
    if kind in _LISTS and value:
        inner = line + "  "
        return f"[{inner}{f',{inner}'.join([_render(item, inner) for item in value])}{line}]"
    if kind is int:
        return repr(value)
    return json.dumps(value, ensure_ascii=False) if kind not in _EMPTY else _EMPTY[kind]


def encode(text: str) -> bytes:
    """Encode JSON text; half a surrogate pair, which a model may write, becomes an escape."""
    return text.encode("utf-8", "backslashreplace")


def parse_json(data: bytes, path: str) -> Any:
    """Parse a file's content; CorruptStateError, naming `path`, when it is no JSON."""
    try:
        found = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise CorruptStateError(path, f"no valid JSON: {error}" if data.strip() else "it is empty") from error
    if found is None:
        raise CorruptStateError(path, "it holds nothing but null")
    return found


def find_bytes(path: str) -> bytes | None:
    """Return a file's content; None when it is missing.

    One that another host has replaced since it was opened is opened again.
    """
    for _ in range(_OPENINGS - 1):
        try:
            return _find_bytes(path)
        except StorageIOError as error:
            if not network.is_stale(error):
                raise
    return _find_bytes(path)


def _find_bytes(path: str) -> bytes | None:
    fd = syscalls.find_file(path, os.O_RDONLY)
    if fd is None:
        return None
    try:
        size = syscalls.stat_file(fd, path).st_size
        return syscalls.read_at(fd, path, size, 0)
    finally:
        syscalls.close(fd)


def find_json(path: str) -> Any | None:
    """Return a parsed file; None when it is missing.

    Bad JSON is read a second time: a foreign writer may have been at it. Then it is a CorruptStateError.
    """
    data = find_bytes(path)
    if data is None:
        return None
    try:
        return parse_json(data, path)
    except CorruptStateError:
        data = find_bytes(path)
        return None if data is None else parse_json(data, path)


def read_json(path: str) -> Any:
    """Return a parsed file, as `find_json` does; StorageIOError when it is missing."""
    found = find_json(path)
    if found is None:
        raise StorageIOError(path, FileNotFoundError(2, "No such file or directory"))
    return found


def find_object(path: str) -> dict[str, Any] | None:
    """Return the object in a JSON file; None when it is missing. Any other value is a CorruptStateError."""
    found = find_json(path)
    if found is not None and not isinstance(found, dict):
        raise CorruptStateError(path, "it holds no JSON object")
    return found


def write_bytes(path: str, data: bytes) -> None:
    """Replace a file by rename, so that a reader sees the old or the new one; 0600."""
    draft = draft_name(path)
    write_draft(draft, data)
    try:
        syscalls.rename(draft, path)
    except StorageIOError:
        discard(draft)
        raise


def write_json(path: str, value: Any) -> None:
    """Replace a JSON file by rename: indented by 2, one line end at the end, 0600."""
    write_bytes(path, json_bytes(value))


def json_bytes(value: Any) -> bytes:
    return encode(render_json(value) + "\n")


def write_draft(draft: str, data: bytes, *, sync: bool = False) -> None:
    """Write a file that nobody looks at yet; it is gone again if that fails."""
    try:
        fd = syscalls.create_draft(draft)
        try:
            syscalls.append(fd, draft, data)
            if sync:
                syscalls.sync_data(fd, draft)
        finally:
            syscalls.close(fd)
    except StorageIOError:
        discard(draft)
        raise


def draft_name(path: str) -> str:
    """Return the hidden name beside `path` under which this process prepares its next content."""
    return f"{_draft_start(path)}{os.getpid()}{_DRAFT_END}"


def remove_drafts(*paths: str) -> None:
    """Remove what killed writers of these files of one folder left; only for who holds the files' lock."""
    folder = os.path.dirname(paths[0])
    starts = tuple(map(_draft_start, paths))
    for entry in syscalls.list_folder(folder):
        path = f"{folder}/{entry}"
        if entry.endswith(_DRAFT_END) and any(
            path.startswith(start) and path[len(start) : -len(_DRAFT_END)].isdigit() for start in starts
        ):
            syscalls.unlink(path)


def _draft_start(path: str) -> str:
    folder, name = os.path.split(path)
    return f"{folder}/.{name.removesuffix('.json')}."


def discard(path: str) -> None:
    """Remove a file if that is possible; used where another failure is already on its way."""
    try:
        os.unlink(path)
    except OSError:
        return


def append_lines(path: str, lines: Iterable[bytes]) -> None:
    """Append whole lines under the caller's lock; a killed writer's torn last line is cut first."""
    fd = syscalls.create_file(path, os.O_RDWR | os.O_APPEND)
    try:
        cut_torn_tail(fd, path, syscalls.stat_file(fd, path).st_size)
        syscalls.append(fd, path, b"".join(lines))
    finally:
        syscalls.close(fd)


def append_line(path: str, line: bytes) -> None:
    """Append one line, as `append_lines` does."""
    append_lines(path, (line,))


def cut_torn_tail(fd: int, path: str, size: int) -> None:
    """Truncate a file of lines after its last line end; nobody was told of what stands behind it."""
    end = size
    while end > 0:
        start = max(0, end - _CHUNK) if end < size else end - 1
        newline = syscalls.read_at(fd, path, end - start, start).rfind(b"\n")
        if newline >= 0:
            end = start + newline + 1
            break
        end = start
    if end < size:
        syscalls.truncate(fd, path, end)


def read_lines(path: str, offset: int = 0) -> Iterator[tuple[int, bytes]]:
    """Yield each whole line from `offset` on with its offset, line end left off; no torn tail."""
    for _ in range(_OPENINGS - 1):
        try:
            for position, line in _read_lines(path, offset):
                yield position, line
                offset = position + len(line) + 1
        except StorageIOError as error:
            if not network.is_stale(error):
                raise
        else:
            return
    yield from _read_lines(path, offset)


def _read_lines(path: str, offset: int) -> Iterator[tuple[int, bytes]]:
    fd = syscalls.find_file(path, os.O_RDONLY)
    if fd is None:
        return
    try:
        begun: list[bytes] = []  # of a line longer than a chunk; put together once, at its end
        place = offset
        while chunk := syscalls.read_at(fd, path, _CHUNK, place):
            place += len(chunk)
            *lines, rest = chunk.split(b"\n")
            if lines:
                lines[0] = b"".join((*begun, lines[0]))
                begun = []
            begun.append(rest)
            for line in lines:
                yield offset, line
                offset += len(line) + 1
    finally:
        syscalls.close(fd)


def read_lines_backwards(path: str) -> Iterator[bytes]:
    """Yield the whole lines of a file from the last to the first, line end left off."""
    fd = syscalls.find_file(path, os.O_RDONLY)
    if fd is None:
        return
    try:
        end = syscalls.stat_file(fd, path).st_size
        begun: list[bytes] = []  # of the line whose start is not read yet, last piece first
        torn = True  # what stands behind the last line end is no line
        while end > 0:
            start = max(0, end - _CHUNK)
            first, *lines = syscalls.read_at(fd, path, end - start, start).split(b"\n")
            if lines:
                lines[-1] = b"".join((lines[-1], *reversed(begun)))
                begun = []
            begun.append(first)
            for line in reversed(lines):
                if not torn:
                    yield line
                torn = False
            end = start
        if not torn:
            yield b"".join(reversed(begun))
    finally:
        syscalls.close(fd)


def sync_file(path: str) -> None:
    """Make a file's content safe against power loss; a file that is gone needs nothing."""
    fd = syscalls.find_file(path, os.O_RDONLY)
    if fd is None:
        return
    try:
        syscalls.sync_data(fd, path)
    finally:
        syscalls.close(fd)
