"""Questions and answers: `permissions/pending/<id>.json`, `permissions/resolved/<id>.json`, `rules.json`.

A question is written once by the one who asks; an answer is created exclusively, so the first one counts.
Whatever is missing, unreadable or not ours never means consent.
"""

from __future__ import annotations

import os
import re

from swarm.core.permission import (
    PermissionRequest,
    Resolution,
    parse_request,
    parse_resolution,
    render_request,
    render_resolution,
)
from swarm.errors import CorruptStateError, NotFoundError
from swarm.settings import Settings
from swarm.storage import files, processes, syscalls
from swarm.storage.layout import TeamLayout

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}", re.ASCII)
_SUFFIX = ".json"


class PermissionStore:
    """The permission requests of one team. No locks: each file has one writer, or is created exclusively."""

    def __init__(self, layout: TeamLayout, settings: Settings) -> None:
        self._layout = layout
        self._settings = settings

    def request(self, request: PermissionRequest) -> None:
        """Put a question where the leader, or a person, will find it."""
        files.write_json(self._path(self._layout.pending_dir, request.id), render_request(request))

    def resolve(self, resolution: Resolution) -> bool:
        """Answer a question and take it off the list; False, and nothing changed, if it was answered before.

        The answer is safe on disk before anybody can see it.
        """
        path = self._path(self._layout.resolved_dir, resolution.id)
        draft = f"{self._layout.resolved_dir}/.{resolution.id}.{os.getpid()}.{processes.new_short_id()}.tmp"
        content = files.json_bytes(render_resolution(resolution))
        files.write_draft(draft, content, sync=self._settings.durability != "none")
        try:
            first = syscalls.link(draft, path)
        finally:
            files.discard(draft)
        syscalls.unlink(self._path(self._layout.pending_dir, resolution.id))
        return first

    def pending(self) -> tuple[PermissionRequest, ...]:
        """Return the open questions, oldest first; files that are no question are passed over."""
        answered = set(syscalls.list_folder(self._layout.resolved_dir))
        names = [name for name in _ids(self._layout.pending_dir) if name + _SUFFIX not in answered]
        found = [self._find_request(name) for name in names]
        return tuple(sorted((r for r in found if r is not None), key=lambda r: (r.created_at, r.id)))

    def resolution(self, request_id: str) -> Resolution | None:
        """Return the answer to a question, None while there is none.

        An answer that another user wrote counts as none; one that does not parse is a CorruptStateError.
        """
        path = self._path(self._layout.resolved_dir, request_id)
        found = files.find_object(path)
        state = syscalls.find_stat(path)
        if found is None or state is None or state.st_uid != os.geteuid():
            return None
        try:
            return parse_resolution(found)
        except ValueError as error:
            raise CorruptStateError(path, str(error)) from error

    def list_resolved(self) -> tuple[Resolution, ...]:
        """Return all answers, oldest first."""
        found = (self.resolution(name) for name in _ids(self._layout.resolved_dir))
        return tuple(sorted((r for r in found if r is not None), key=lambda r: (r.at, r.id)))

    def load_rules(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the texts of the team's allow and deny rules; a file that does not parse is an error."""
        found = files.find_object(self._layout.rules)
        if found is None:
            return (), ()
        return _rules(found.get("allow"), self._layout.rules), _rules(found.get("deny"), self._layout.rules)

    def _find_request(self, name: str) -> PermissionRequest | None:
        try:
            found = files.find_object(self._path(self._layout.pending_dir, name))
            return None if found is None else parse_request(found)
        except (CorruptStateError, ValueError):
            return None

    @staticmethod
    def _path(folder: str, request_id: str) -> str:
        if not _ID.fullmatch(request_id):
            raise NotFoundError(
                f"no permission request {request_id!r}", code="no_such_request", details={"value": request_id}
            )
        return f"{folder}/{request_id}{_SUFFIX}"


def _ids(folder: str) -> list[str]:
    names = (e.removesuffix(_SUFFIX) for e in syscalls.list_folder(folder) if e.endswith(_SUFFIX))
    return sorted(name for name in names if _ID.fullmatch(name))


def _rules(value: object, path: str) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(rule, str) for rule in value):
        raise CorruptStateError(path, "allow and deny should be lists of rules")
    return tuple(value)
