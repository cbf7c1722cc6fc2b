"""Health of mail and of all files of lines: torn tails, damaged lines, damaged arrays."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import partial
from typing import Any

from swarm.core.costs import parse_entry_line
from swarm.core.event import parse_event_line
from swarm.core.jsontext import parse_object
from swarm.core.message import parse_message
from swarm.errors import CorruptStateError, LockTimeoutError
from swarm.storage import files, processes, syscalls
from swarm.storage.finding import Finding, Held, keep_copy, undisturbed
from swarm.storage.health_folders import held_lock
from swarm.storage.inbox_files import InboxFiles, split_array
from swarm.storage.lock import FileLock
from swarm.storage.team import Team

_OVERFLOW = ".overflow.jsonl"


def examine_mail(team: Team, held: Held) -> Iterator[Finding]:
    """Find inboxes that cannot be read, what is no message in them, and torn or damaged lines beside them."""
    names = {e.split(".")[0] for e in syscalls.list_folder(team.layout.inboxes_dir) if e[0] != "."}
    for name in sorted(names):
        try:
            yield from _inbox(team, name, held)
        except LockTimeoutError as error:
            yield held_lock(error, team.layout.lock(f"inbox-{name}"))
        yield from _lines(team, team.layout.overflow(name), f"inbox-{name}", _message, held)
    for entry in sorted(syscalls.list_folder(team.layout.history_dir)):
        name, dot, kind = entry.rpartition(".")
        if dot and kind == "jsonl" and name[:1] != ".":
            yield from _lines(team, team.layout.history(name), f"inbox-{name}", json.loads, held)


def examine_lines(team: Team, held: Held) -> Iterator[Finding]:
    """Find torn tails and damaged lines of events, costs and transcripts."""
    yield from _lines(team, team.layout.events, "events", parse_event_line, held)
    yield from _lines(team, team.layout.costs, "costs", parse_entry_line, held)
    for entry in sorted(syscalls.list_folder(team.layout.transcripts_dir)):
        name, dot, kind = entry.rpartition(".")
        if dot and kind == "jsonl" and not _may_be_writing(team, name):
            yield from _lines(team, team.layout.transcript(name), None, parse_object, held)


def _inbox(team: Team, name: str, held: Held) -> Iterator[Finding]:
    box = InboxFiles(team.layout, name)
    with undisturbed(team.layout.lock(f"inbox-{name}"), team.settings, team.clock, held):
        try:
            _, strays = split_array(box.load_array())
        except CorruptStateError as error:
            yield Finding(
                kind="damaged_inbox",
                path=box.array_path,
                what=f"the mail of {name} cannot be read: {error.why}",
                remedy="it is set aside, and a new one begins",
                mend=team.inbox(name).peek,
            )
            return
    if strays:
        yield Finding(
            kind="stray_mail",
            path=box.array_path,
            what=f"{len(strays)} of the items in the mail of {name} are no messages",
            remedy="they are moved to the history",
            mend=partial(team.inbox(name).acknowledge, ()),
        )


def _lines(
    team: Team, path: str, lock: str | None, parse: Callable[[bytes], Any], held: Held
) -> Iterator[Finding]:
    """Look at one file of lines; `lock` is the one under which it is written, if any."""
    if not os.path.isfile(path):
        return
    try:
        settings, clock = team.settings, team.clock
        with undisturbed(team.layout.lock(lock), settings, clock, held) if lock else nullcontext():
            data = files.find_bytes(path) or b""
    except LockTimeoutError as error:
        yield held_lock(error, team.layout.lock(lock or ""))
        return
    end = data.rfind(b"\n") + 1
    if end < len(data):
        yield Finding(
            kind="torn_tail",
            path=path,
            what=f"its last line was never finished ({len(data) - end} bytes)",
            remedy="it is cut off, and kept aside",
            mend=partial(_cut, team, path, lock),
        )
    bad = sum(not _parses(line, parse) for line in data[:end].splitlines())
    if bad:
        yield _damaged_lines(team, path, bad, lock, parse)


def _damaged_lines(
    team: Team, path: str, bad: int, lock: str | None, parse: Callable[[bytes], Any]
) -> Finding:
    """Only unread mail is mended: everything else is a record, whose lines have their places."""
    if not path.endswith(_OVERFLOW):
        what = f"readers pass over {bad} of its lines, which are damaged"
        return Finding(kind="damaged_lines", path=path, what=what, warning=True)
    return Finding(
        kind="damaged_lines",
        path=path,
        what=f"{bad} of its lines are no messages",
        remedy="they are taken out, and a copy is kept aside",
        mend=partial(_take_out, team, path, lock or "", parse),
    )


def _cut(team: Team, path: str, lock: str | None) -> None:
    with FileLock(team.layout.lock(lock), team.settings, team.clock, "doctor") if lock else nullcontext():
        data = files.find_bytes(path) or b""
        tail = data[data.rfind(b"\n") + 1 :]
        if tail:
            keep_copy(team, path, tail)
            files.append_lines(path, ())


def _take_out(team: Team, path: str, lock: str, parse: Callable[[bytes], Any]) -> None:
    with FileLock(team.layout.lock(lock), team.settings, team.clock, "doctor"):
        data = files.find_bytes(path) or b""
        keep_copy(team, path, data)
        whole = data[: data.rfind(b"\n") + 1].splitlines(keepends=True)
        files.write_bytes(path, b"".join(line for line in whole if _parses(line, parse)))


def _parses(line: bytes, parse: Callable[[bytes], Any]) -> bool:
    try:
        parse(line)
    except (ValueError, RecursionError):
        return False
    return True


def _message(line: bytes) -> object:
    return parse_message(parse_object(line))


def _may_be_writing(team: Team, name: str) -> bool:
    """Tell whether an agent may have its transcript open, which is written without a lock."""
    try:
        record = team.agents.load(name)
    except CorruptStateError:
        return True
    return record is not None and record.state != "stopped" and processes.liveness(record) != "dead"
