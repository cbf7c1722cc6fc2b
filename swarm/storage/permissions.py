"""Questions and answers: `permissions/pending/<id>.json`, `permissions/resolved/<id>.json`, `rules.json`.

A question is written once by the one who asks, under a small number that is never given twice; an answer is
created exclusively, so the first one counts. Whatever is missing, unreadable or not ours never means consent.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Literal

from swarm.core.identity import USER
from swarm.core.permission import (
    PermissionRequest,
    Resolution,
    parse_request,
    parse_resolution,
    render_request,
    render_resolution,
)
from swarm.core.ports import Clock
from swarm.errors import CorruptStateError, NotFoundError
from swarm.settings import Settings
from swarm.storage import files, processes, syscalls
from swarm.storage.layout import TeamLayout
from swarm.storage.lock import FileLock

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_@-]{0,180}", re.ASCII)
_NUMBER = re.compile(r"[0-9]{1,9}", re.ASCII)
_SUFFIX = ".json"


class PermissionStore:
    """The permission requests of one team.

    Numbers and rules have a lock; of the other files each has one writer, or is created exclusively.
    """

    def __init__(self, layout: TeamLayout, settings: Settings, clock: Clock) -> None:
        self._layout = layout
        self._settings = settings
        self._clock = clock

    def request(self, request: PermissionRequest) -> PermissionRequest:
        """Put a question where the leader, or a person, will find it; return it with its number.

        Done again, it changes nothing.
        """
        path = self._path(self._layout.pending_dir, request.id)
        known = self._find_request(request.id)
        if known is not None:
            return known
        with self._lock(request.agent):
            numbered = request.replace(number=self._next_number(request.id))
            files.write_json(path, render_request(numbered))
        return numbered

    def _next_number(self, request_id: str) -> int:
        """Return the number for this id, which is safe before the question can be seen.

        Whoever is killed in between asks again under the same one, or leaves a number that nobody has.
        """
        path = self._layout.numbers
        last = _last_number(path) or {"last": max(self._numbers(), default=0), "id": ""}
        if last["id"] == request_id:
            return int(last["last"])
        number = int(last["last"]) + 1
        files.write_json(path, {"last": number, "id": request_id})
        return number

    def _numbers(self) -> list[int]:
        pending = map(self._find_request, _ids(self._layout.pending_dir))
        asked = [request.number for request in pending if request is not None]
        answered = [_number_of(resolution) for resolution in self._readable()]
        return [number for number in (*asked, *answered) if number is not None]

    def resolve(self, resolution: Resolution) -> bool:
        """Answer a question and take it off the list; False, and nothing changed, if it was answered before.

        The answer is safe on disk before anybody can see it.
        """
        path = self._path(self._layout.resolved_dir, resolution.id)
        draft = f"{self._layout.resolved_dir}/.{resolution.id}.{os.getpid()}.{processes.new_short_id()}.tmp"
        content = files.json_bytes(render_resolution(resolution))
        files.write_draft(draft, content, sync=self._settings.durability != "none")
        try:
            first = syscalls.link(draft, path) or _is_one_file(draft, path)
        finally:
            files.discard(draft)
        syscalls.unlink(self._path(self._layout.pending_dir, resolution.id))
        return first

    def forget_answered(self) -> None:
        """Remove the open files of questions that stand in their answers, too: who answered was killed."""
        for name in _ids(self._layout.pending_dir):
            with suppress(CorruptStateError):
                answered = self.resolution(name)
                if answered is not None and answered.request is not None:
                    syscalls.unlink(self._path(self._layout.pending_dir, name))

    def pending(self) -> tuple[PermissionRequest, ...]:
        """Return the open questions, oldest first; files that are no question are passed over."""
        asked = _ids(self._layout.pending_dir)
        if not asked:
            return ()
        answered = set(syscalls.list_folder(self._layout.resolved_dir))
        names = [name for name in asked if name + _SUFFIX not in answered]
        found = [request for name in names if (request := self._find_request(name)) is not None]
        return tuple(sorted(found, key=lambda one: (one.created_at, one.number or 0, one.id)))

    def unreadable(self) -> Iterator[str]:
        """Yield the files without an answer that are no question, whoever wrote them."""
        for name in _ids(self._layout.pending_dir):
            path = self._path(self._layout.pending_dir, name)
            answered = syscalls.find_stat(self._path(self._layout.resolved_dir, name)) is not None
            if not answered and self._find_request(name) is None and syscalls.find_stat(path) is not None:
                yield path

    def find(self, ref: str) -> PermissionRequest | Resolution:
        """Return a question by its number or id, or its answer; NotFoundError `no_such_request`."""
        name = ref.strip().removeprefix("#")
        found = self._find_number(int(name)) if _NUMBER.fullmatch(name) else self._find_id(name)
        if found is None:
            raise self._unknown(ref)
        return found

    def _find_number(self, number: int) -> PermissionRequest | Resolution | None:
        for request in self.pending():
            if request.number == number:
                return request
        return next((one for one in self._readable() if _number_of(one) == number), None)

    def _find_id(self, request_id: str) -> PermissionRequest | Resolution | None:
        return self.resolution(request_id) or self._find_request(request_id)

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
        """Return all answers that can be read, oldest first; the others say nothing."""
        return tuple(sorted(self._readable(), key=lambda r: (r.at, r.id)))

    def load_rules(self) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
        """Return the team's allow, deny and ask rules as texts; a file that does not parse is an error."""
        path = self._layout.rules
        found = files.find_object(path) or {}
        allow, deny, ask = (_rules(found.get(key), path) for key in ("allow", "deny", "ask"))
        return allow, deny, ask

    def add_rule(self, behavior: Literal["allow", "deny", "ask"], text: str) -> bool:
        """Add a rule that counts for the whole team at once; False if it stands there already."""
        with self._lock(USER):
            found = files.find_object(self._layout.rules) or {}
            rules = _rules(found.get(behavior), self._layout.rules)
            if text in rules:
                return False
            files.write_json(self._layout.rules, {**found, behavior: [*rules, text]})
            return True

    def rules_mark(self) -> object:
        """Return what differs after a rule was added; costs one look at a file."""
        found = syscalls.find_stat(self._layout.rules)
        return None if found is None else (found.st_ino, found.st_mtime_ns, found.st_size)

    def _readable(self) -> list[Resolution]:
        """Return the answers that can be read, whatever the others look like."""
        found = []
        for name in _ids(self._layout.resolved_dir):
            try:
                found.append(self.resolution(name))
            except CorruptStateError:
                continue
        return [one for one in found if one is not None]

    def _lock(self, holder: str) -> FileLock:
        return FileLock(self._layout.lock("permissions"), self._settings, self._clock, holder)

    def _find_request(self, name: str) -> PermissionRequest | None:
        try:
            found = files.find_object(self._path(self._layout.pending_dir, name))
            request = None if found is None else parse_request(found)
        except (CorruptStateError, ValueError):
            return None
        return request if request is not None and request.id == name else None

    def _path(self, folder: str, request_id: str) -> str:
        if not _ID.fullmatch(request_id):
            raise self._unknown(request_id)
        return f"{folder}/{request_id}{_SUFFIX}"

    def _unknown(self, ref: str) -> NotFoundError:
        name = ref.strip().removeprefix("#")
        called = f"#{name}" if _NUMBER.fullmatch(name) else repr(ref)
        where = f"swarm permissions -t {self._layout.team}"
        return NotFoundError(
            f"there is no question {called}; {where} lists those that are open",
            code="no_such_request",
            details={"value": ref},
        )


def _ids(folder: str) -> list[str]:
    names = (e.removesuffix(_SUFFIX) for e in syscalls.list_folder(folder) if e.endswith(_SUFFIX))
    return sorted(name for name in names if _ID.fullmatch(name))


def _is_one_file(one: str, other: str) -> bool:
    """Tell whether a link was made after all: a network mount repeats one whose reply got lost."""
    states = syscalls.find_stat(one), syscalls.find_stat(other)
    return states[0] is not None and states[1] is not None and os.path.samestat(states[0], states[1])


def _number_of(resolution: Resolution) -> int | None:
    number = (resolution.request or {}).get("number")
    return number if isinstance(number, int) else None


def _last_number(path: str) -> dict[str, Any] | None:
    """Return who got a number last; None where nobody has, or where that cannot be read any more."""
    try:
        found = files.find_object(path)
    except CorruptStateError:
        return None
    fits = found is not None and isinstance(found.get("last"), int) and isinstance(found.get("id"), str)
    return found if fits else None


def _rules(value: object, path: str) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(rule, str) for rule in value):
        raise CorruptStateError(path, "allow, deny and ask should be lists of rules")
    return tuple(value)
