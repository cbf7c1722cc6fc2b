"""Pruning a team that rests: what was only of use while it ran goes; tasks, results and events stay."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from swarm.core.jsontext import parse_object
from swarm.core.message import parse_message
from swarm.core.times import parse_time
from swarm.storage import files, processes, syscalls
from swarm.storage.archive import refuse_running
from swarm.storage.creation import remove_tree, teams_lock
from swarm.storage.deletion import refuse_living
from swarm.storage.inbox_files import InboxFiles
from swarm.storage.layout import Layout
from swarm.storage.lock import FileLock
from swarm.storage.team import Team
from swarm.values import Value

_DRAFT = re.compile(r"\..+?\.(?P<pid>[0-9]+)(\.[0-9a-z]{8})?\.tmp", re.ASCII)
"""Of an answer to a permission request the draft has a random part, too."""


class Freed(Value):
    """How much of one kind was removed: `temporary_files spawn_files tool_results read_mail lock_files`."""

    what: str
    items: int = 0
    size: int = 0


def prune_team(team: Team, *, force: bool) -> tuple[Freed, ...]:
    """Remove leftovers, lock and spawn files, long tool results, and mail that was read long ago.

    Refused while an agent is alive, and without `force` while tasks are in progress. With `force` all mail
    that was read goes, whatever its age.
    """
    with teams_lock(Layout(root=team.root), team.settings, team.clock):
        refuse_living(team)
        if not force:
            refuse_running(team)
        keep_since = team.clock.now() - (0.0 if force else team.settings.history_keep_seconds)
        return (
            _remove("temporary_files", _drafts(team)),
            _remove("spawn_files", _inside(team.layout.spawn_dir)),
            _remove("tool_results", _tool_results(team)),
            _forget_mail(team, keep_since),
            _remove_locks(team),
        )


def dead_drafts(folder: str) -> Iterator[str]:
    """Yield the drafts in a folder that no living process works on."""
    for entry in sorted(syscalls.list_folder(folder)):
        match = _DRAFT.fullmatch(entry)
        if match and processes.start_ticks(int(match["pid"])) is None:
            yield f"{folder}/{entry}"


def folders_of(team: Team) -> Iterator[str]:
    """Yield every folder of a team, its task list first; links are not followed."""
    for root in (team.layout.tasks_dir, team.layout.team_dir):
        for folder, _, _ in os.walk(root):
            yield folder


def _drafts(team: Team) -> Iterator[str]:
    for folder in list(folders_of(team)):
        yield from dead_drafts(folder)


def _inside(folder: str) -> Iterator[str]:
    return (f"{folder}/{entry}" for entry in syscalls.list_folder(folder))


def _tool_results(team: Team) -> Iterator[str]:
    """Yield the files of results that were too long for a transcript, which keeps how each begins."""
    for agent in syscalls.list_folder(team.layout.transcripts_dir):
        folder = team.layout.tool_results(agent)
        if os.path.isdir(folder):
            yield from _inside(folder)


def _remove(what: str, paths: Iterator[str]) -> Freed:
    freed = Freed(what=what)
    for path in paths:
        size = _size_of(path)
        if os.path.isdir(path) and not os.path.islink(path):
            remove_tree(path)
        else:
            syscalls.unlink(path)
        freed = freed.replace(items=freed.items + 1, size=freed.size + size)
    return freed


def _size_of(path: str) -> int:
    try:
        return os.lstat(path).st_size
    except FileNotFoundError:
        return 0


def _forget_mail(team: Team, keep_since: float) -> Freed:
    """Drop the messages that were acknowledged before this time, from the history of everybody."""
    freed = Freed(what="read_mail")
    for entry in sorted(syscalls.list_folder(team.layout.history_dir)):
        name, dot, kind = entry.rpartition(".")
        if dot and kind == "jsonl":
            with FileLock(team.layout.lock(f"inbox-{name}"), team.settings, team.clock, "prune"):
                count, size = _forget(InboxFiles(team.layout, name), keep_since)
            freed = freed.replace(items=freed.items + count, size=freed.size + size)
    return freed


def _forget(box: InboxFiles, keep_since: float) -> tuple[int, int]:
    lines = [line for _, line in files.read_lines(box.history_path)]
    kept = [line for line in lines if not _is_old(line, keep_since)]
    if len(kept) == len(lines):
        return 0, 0
    before = _size_of(box.history_path)
    data = b"".join(line + b"\n" for line in kept)
    files.write_bytes(box.history_path, data)
    return len(lines) - len(kept), before - len(data)


def _is_old(line: bytes, limit: float) -> bool:
    """Tell whether a line is a message of before that time; what is none stays."""
    try:
        at = parse_message(parse_object(line)).acked_at
        return at is not None and parse_time(at) <= limit
    except (ValueError, RecursionError):
        return False


def _remove_locks(team: Team) -> Freed:
    """Remove the lock files that nobody holds; the next user makes a new one."""
    freed = Freed(what="lock_files")
    for entry in sorted(syscalls.list_folder(team.layout.locks_dir)):
        path = team.layout.lock(entry)
        lock = FileLock(path, team.settings, team.clock, "prune")
        if os.path.isfile(path) and lock.try_acquire():
            try:
                freed = freed.replace(items=freed.items + 1, size=freed.size + _size_of(path))
                syscalls.unlink(path)
            finally:
                lock.release()
    return freed
