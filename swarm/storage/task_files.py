"""`tasks/<id>.json`: one file for each task, a view of the journal that `cat` and other clients can read.

Only the holder of the task lock writes. A small change is one write inside one page, which SIGKILL cannot
tear; anything larger replaces the file by rename. Hidden files are drafts, never read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

from swarm.core.task import Task, parse_task, render_task
from swarm.errors import CorruptStateError
from swarm.settings import Settings
from swarm.storage import files, syscalls
from swarm.storage.layout import TeamLayout

_ID = re.compile(r"[1-9][0-9]*", re.ASCII)
_TASK_FILE = re.compile(r"([1-9][0-9]*)\.json", re.ASCII)
_DRAFT = re.compile(r"\.([1-9][0-9]*|\.highwatermark)\.[0-9]+\.tmp", re.ASCII)
_ROOM = 512
"""Bytes beyond the padding, so that a claim and a short result fit into the file as it was made."""


class TaskFiles:
    """The task files of one team. Fields that another client added to a file are kept."""

    def __init__(self, layout: TeamLayout, settings: Settings) -> None:
        self._layout = layout
        self._padding = settings.task_file_padding
        self._page = settings.task_file_in_place_bytes
        self._seen: dict[str, tuple[int, int, int]] = {}  # files that are as we left them

    def find(self, task_id: str) -> Task | None:
        """Return the task in a file, None when there is none; CorruptStateError when it is no task."""
        if not _ID.fullmatch(task_id):
            return None
        path = self._layout.task(task_id)
        found = files.find_object(path)
        if found is None:
            return None
        try:
            return parse_task(found)
        except ValueError as error:
            raise CorruptStateError(path, str(error)) from error

    def ids(self) -> list[str]:
        """Return the ids that have a file, lowest first."""
        matches = (_TASK_FILE.fullmatch(entry) for entry in syscalls.list_folder(self._layout.tasks_dir))
        return sorted((match[1] for match in matches if match), key=int)

    def exists(self, task_id: str) -> bool:
        return syscalls.find_stat(self._layout.task(task_id)) is not None

    def put(self, task: Task, before: Task | None = None) -> None:
        """Bring a file up to date with the journal; `before` is what the journal said until now."""
        self._put(task, before, redo=False)

    def redo(self, task: Task) -> None:
        """Bring a file up to date unless it is already, which its own number tells."""
        self._put(task, task, redo=True)

    def remove(self, task_id: str) -> None:
        self._seen.pop(task_id, None)
        syscalls.unlink(self._layout.task(task_id))

    def sweep(self) -> None:
        """Remove the drafts of killed writers; under the task lock nobody is at work on one."""
        for entry in syscalls.list_folder(self._layout.tasks_dir):
            if _DRAFT.fullmatch(entry):
                syscalls.unlink(f"{self._layout.tasks_dir}/{entry}")

    def _put(self, task: Task, before: Task | None, *, redo: bool) -> None:
        path = self._layout.task(task.id)
        fd = syscalls.find_file(path, os.O_RDWR)
        if fd is None:
            self._replace(path, task)
            return
        try:
            state = syscalls.stat_file(fd, path)
            if redo or self._seen.get(task.id) != _signature(state):
                on_disk = _parse(syscalls.read_at(fd, path, state.st_size, 0))
                if redo and on_disk is not None and on_disk.seq >= task.seq:
                    return
                task = _with_foreign_fields(task, before or task, on_disk)
            data = _render(task)
            if len(data) < state.st_size <= self._page:
                syscalls.write_at(fd, path, data.ljust(state.st_size - 1) + b"\n", 0)
                self._seen[task.id] = _signature(syscalls.stat_file(fd, path))
                return
        finally:
            syscalls.close(fd)
        self._replace(path, task)

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


def _parse(data: bytes) -> Task | None:
    try:
        return parse_task(files.parse_json(data, ""))
    except (CorruptStateError, ValueError, AttributeError):
        return None


def _signature(state: os.stat_result) -> tuple[int, int, int]:
    return state.st_ino, state.st_size, state.st_mtime_ns


def _with_foreign_fields(task: Task, before: Task, on_disk: Task | None) -> Task:
    """Return the task with what stands in its file but never stood in the journal."""
    if on_disk is None or not (on_disk.extra or on_disk.metadata or on_disk.swarm_extra):
        return task
    return task.replace(
        extra=_joined(task.extra, before.extra, on_disk.extra),
        metadata=_joined(task.metadata, before.metadata, on_disk.metadata),
        swarm_extra=_joined(task.swarm_extra, before.swarm_extra, on_disk.swarm_extra),
    )


def _joined(new: Mapping[str, Any], old: Mapping[str, Any], on_disk: Mapping[str, Any]) -> Mapping[str, Any]:
    foreign = {key: value for key, value in on_disk.items() if key not in new and key not in old}
    return {**new, **foreign} if foreign else new
