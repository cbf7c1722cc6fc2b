"""`tasks/<id>.json`: one file for each task, a view of the journal that `cat` and other clients can read.

Only the holder of the task lock writes. A small change is one write inside one page, which SIGKILL cannot
tear; anything larger replaces the file by rename. Hidden files are drafts, never read.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from typing import Any

from swarm.core.foreign import carried_over, parse_found
from swarm.core.table import TaskTable
from swarm.core.task import Task, parse_task, render_task
from swarm.errors import CorruptStateError
from swarm.settings import Settings
from swarm.storage import files, syscalls
from swarm.storage.journal import Replay
from swarm.storage.layout import TeamLayout

ID_DIGITS_MAX = 9
_ID = re.compile(rf"[1-9][0-9]{{0,{ID_DIGITS_MAX - 1}}}", re.ASCII)
_TASK_FILE = re.compile(rf"({_ID.pattern})\.json", re.ASCII)
_DRAFT = re.compile(r"\.([1-9][0-9]*|\.highwatermark)\.[0-9]+\.tmp|\.journal\.jsonl\.new", re.ASCII)
_ROOM = 512
"""Bytes beyond the padding, so that a claim and a short result fit into the file as it was made."""

SETS_ASIDE = "swarm doctor --fix sets it aside"

_Signature = tuple[int, int, int]


class Damaged(Exception):  # noqa: N818 - a finding that travels by `raise` inside of storage
    """A file is no task. `shaped`: it is an object, which somebody wrote on purpose."""

    def __init__(self, why: str, *, shaped: bool) -> None:
        super().__init__(why)
        self.shaped = shaped


class TaskFiles:
    """The task files of one team. What another hand changed in a file stays there until it is judged."""

    def __init__(self, layout: TeamLayout, settings: Settings) -> None:
        self._layout = layout
        self._padding = settings.task_file_padding
        self._page = settings.task_file_in_place_bytes
        self._seen: dict[str, _Signature] = {}  # files that show what the journal says
        self._folder: tuple[int, int] | None = None  # as it was when its names were last looked through

    def find(self, task_id: str) -> Task | None:
        """Return the task in a file, None when there is none; CorruptStateError when it is no task."""
        if not _ID.fullmatch(task_id):
            return None
        path = self._layout.task(task_id)
        try:
            found = files.find_object(path)
            return None if found is None else parse_task({**found, "id": task_id})
        except CorruptStateError as error:
            raise CorruptStateError(path, error.why, SETS_ASIDE) from error
        except ValueError as error:
            raise CorruptStateError(path, str(error), SETS_ASIDE) from error

    def ids(self) -> list[str]:
        """Return the ids that have a file, lowest first."""
        matches = (_TASK_FILE.fullmatch(entry) for entry in syscalls.list_folder(self._layout.tasks_dir))
        return sorted((match[1] for match in matches if match), key=int)

    def exists(self, task_id: str) -> bool:
        return bool(_ID.fullmatch(task_id)) and syscalls.find_stat(self._layout.task(task_id)) is not None

    def odd_names(self) -> list[str]:
        """Return the names in the folder that are neither tasks nor ours; nothing ever reads such files."""
        entries = syscalls.list_folder(self._layout.tasks_dir)
        return sorted(name for name in entries if name[0] != "." and not _TASK_FILE.fullmatch(name))

    def differing(self, task: Task) -> Task | None:
        """Return what a file shows if that is not what the journal says; a missing file shows nothing.

        Damaged when it is no task. A file that has not changed since it was seen costs one `stat`.
        """
        path = self._layout.task(task.id)
        state = syscalls.find_stat(path)
        if state is None or self._seen.get(task.id) == _signature(state):
            return None
        raw = self._find(task.id)
        if raw is None:
            return None
        data, signature = raw
        if not _is_as_written(data, task):
            found = _parse(data, task.id)
            if found != task:
                return found
        self._seen[task.id] = signature
        return None

    def read(self, task_id: str) -> Task | None:
        """Return what a file shows, None when there is none; Damaged when that is no task."""
        raw = self._find(task_id)
        return raw and _parse(raw[0], task_id)

    def suspects(self, table: TaskTable) -> list[str]:
        """Return the ids whose files may not show what the journal says, and those that it does not know.

        Without the lock: whoever holds it may be about to write them, so that some are no news.
        """
        missing = dict.fromkeys(table.ids())
        found = []
        for name, state in syscalls.scan_folder(self._layout.tasks_dir):
            match = _TASK_FILE.fullmatch(name)
            if match is None:
                continue
            missing.pop(match[1], None)
            if self._seen.get(match[1]) != _signature(state) and self.is_suspect(
                match[1], table.find(match[1])
            ):
                found.append(match[1])
        return [*missing, *sorted(found, key=int)]

    def is_suspect(self, task_id: str, task: Task | None) -> bool:
        """Tell whether a file shows something else than the journal, which knows this task or none."""
        try:
            return self.exists(task_id) if task is None else self.differing(task) is not None
        except Damaged:
            return True

    def folder_changed(self) -> bool:
        """Tell whether names may have come or gone in the folder since this was last asked."""
        state = syscalls.find_stat(self._layout.tasks_dir)
        now = (state.st_ino, state.st_mtime_ns) if state else None
        before, self._folder = self._folder, now
        return before != now

    def put(self, task: Task, before: Task | None = None) -> None:
        """Bring a file up to date with the journal; `before` is what the journal said until now."""
        path = self._layout.task(task.id)
        fd = syscalls.find_file(path, os.O_RDWR)
        if fd is None:
            self._replace(path, task)
            return
        try:
            state = syscalls.stat_file(fd, path)
            shown = task
            if before is not None and self._seen.get(task.id) != _signature(state):
                shown = _with_unjudged(task, before, syscalls.read_at(fd, path, state.st_size, 0))
            if not self._write_in_place(fd, path, state, shown):
                self._replace(path, shown)
        finally:
            syscalls.close(fd)
        if shown is not task:
            self._seen.pop(task.id, None)

    def redo(self, task: Task, replay: Replay) -> None:
        """Bring a file up to date unless it is already, which its own number tells."""
        try:
            found = self.read(task.id)
        except Damaged:
            found = None
        if found is None:
            self._replace(self._layout.task(task.id), task)
        elif found.seq < task.seq:
            self.put(task, replay.version(task.id, found.seq) or guessed_base(task, found))

    def restore(self, task: Task) -> None:
        """Make a file show what the journal says, whatever it holds."""
        self.put(task)

    def remove(self, task_id: str) -> None:
        self._seen.pop(task_id, None)
        syscalls.unlink(self._layout.task(task_id))

    def sweep(self) -> None:
        """Remove the drafts of killed writers; under the task lock nobody is at work on one."""
        for entry in syscalls.list_folder(self._layout.tasks_dir):
            if _DRAFT.fullmatch(entry):
                syscalls.unlink(f"{self._layout.tasks_dir}/{entry}")

    def _find(self, task_id: str) -> tuple[bytes, _Signature] | None:
        path = self._layout.task(task_id)
        fd = syscalls.find_file(path, os.O_RDONLY)
        if fd is None:
            return None
        try:
            state = syscalls.stat_file(fd, path)
            return syscalls.read_at(fd, path, state.st_size, 0), _signature(state)
        finally:
            syscalls.close(fd)

    def _write_in_place(self, fd: int, path: str, state: os.stat_result, task: Task) -> bool:
        data = _render(task)
        if not len(data) < state.st_size <= self._page:
            return False
        syscalls.write_at(fd, path, data.ljust(state.st_size - 1) + b"\n", 0)
        self._seen[task.id] = _signature(syscalls.stat_file(fd, path))
        return True

    def _replace(self, path: str, task: Task) -> None:
        data = _render(task)
        files.write_bytes(path, data.ljust(self._size_for(len(data)) - 1) + b"\n")
        self._seen.pop(task.id, None)

    def _size_for(self, length: int) -> int:
        """Return the size of a new file: padded, and within one page with room to grow if possible."""
        least = length + self._padding + 1
        return max(least, min(least + _ROOM, self._page))


def _render(task: Task) -> bytes:
    return files.encode(files.render_json(render_task(task)))


def _is_as_written(data: bytes, task: Task) -> bool:
    """Tell in half the time of a full look whether a file shows just what we would write into it."""
    try:
        return bool(json.loads(data.decode()) == render_task(task))
    except (ValueError, RecursionError):
        return False


def _parse(data: bytes, task_id: str) -> Task:
    try:
        obj = files.parse_json(data, "the file")
    except CorruptStateError as error:
        raise Damaged(error.message, shaped=False) from error
    if not isinstance(obj, dict):
        raise Damaged("it holds no JSON object", shaped=False)
    try:
        return parse_found(obj, task_id)
    except (ValueError, RecursionError) as error:
        raise Damaged(str(error), shaped=True) from error


def _signature(state: os.stat_result) -> _Signature:
    return state.st_ino, state.st_size, state.st_mtime_ns


def _with_unjudged(task: Task, before: Task, data: bytes) -> Task:
    """Return the task with what a hand changed in its file since `before`; the task itself if nothing."""
    try:
        found = _parse(data, task.id)
    except Damaged:
        return task
    if found == before or found.seq not in (0, before.seq):
        return task
    carried = carried_over(task, before, found)
    return task if carried == task else carried


def guessed_base(task: Task, found: Task) -> Task:
    """Stand in for a version that nobody remembers: only keys that the task lacks count as a hand's."""
    return found.replace(
        metadata=_common(found.metadata, task.metadata),
        extra=_common(found.extra, task.extra),
        swarm_extra=_common(found.swarm_extra, task.swarm_extra),
    )


def _common(found: Mapping[str, Any], known: Mapping[str, Any]) -> Mapping[str, Any]:
    return {key: value for key, value in found.items() if key in known}
