"""Health of a team's folders: links, modes, leftovers of killed writers, and lock files."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from functools import partial

from swarm.core.identity import USER
from swarm.errors import LockTimeoutError
from swarm.storage import files, syscalls
from swarm.storage.finding import Finding, Held, set_aside, set_aside_dir, undisturbed
from swarm.storage.ledger import Ledger
from swarm.storage.lock import HOLDER_OFFSET, HOLDER_SIZE, FileLock
from swarm.storage.mark import MARK_SIZE
from swarm.storage.pruning import dead_drafts, folders_of
from swarm.storage.team import Team

_FOREIGN_LOCK_SECONDS = 10.0
"""A lock folder of another client that is older was left behind: it holds them for milliseconds."""

_MARK = re.compile(rb"[0-9]+ [0-9]+ [!-~]+ *")
_HOLDER = re.compile(rb"[0-9]+ [0-9]+ [!-~].*", re.DOTALL)
_LOCK_SIZE = HOLDER_OFFSET + HOLDER_SIZE
_STOPPED = "T"


def examine_folders(team: Team) -> Iterator[Finding]:
    """Find folders that are missing, a `tasks` link that leads elsewhere, and files open to others."""
    layout = team.layout
    for folder in (
        layout.locks_dir, layout.agents_dir, layout.inboxes_dir, layout.history_dir, layout.permissions_dir,
        layout.pending_dir, layout.resolved_dir, layout.transcripts_dir, layout.logs_dir, layout.spawn_dir,
    ):  # fmt: skip
        if not os.path.isdir(folder):
            make = partial(_make_folder, team, folder)
            yield Finding(
                kind="missing_folder",
                path=folder,
                what="the folder is missing",
                remedy="it is made",
                mend=make,
            )
    yield from _link(team)
    yield from _modes(team)


def examine_leftovers(team: Team) -> Iterator[Finding]:
    """Find drafts of dead writers, and locks of another client that it has forgotten."""
    for folder in list(folders_of(team)):
        if folder.startswith(set_aside_dir(team)):
            continue
        yield from examine_drafts(folder)
        for entry in syscalls.list_folder(folder):
            if entry.endswith(".lock"):
                yield from _foreign_lock(team, f"{folder}/{entry}")


def examine_drafts(folder: str) -> Iterator[Finding]:
    """Find drafts of dead writers in one folder."""
    for path in dead_drafts(folder):
        yield Finding(
            kind="orphan_draft",
            path=path,
            what="the draft of a writer that was killed; it counts for nothing",
            remedy="it is removed",
            mend=partial(syscalls.unlink, path),
        )


def examine_locks(team: Team, held: Held) -> Iterator[Finding]:
    """Find lock files that hold what no lock holds, and locks that nobody gives back."""
    for entry in sorted(syscalls.list_folder(team.layout.locks_dir)):
        path = team.layout.lock(entry)
        if not os.path.isfile(path) or os.path.islink(path):
            yield Finding(
                kind="damaged_lock",
                path=path,
                what="it is no file, so that nobody can take this lock",
                remedy="it is set aside",
                mend=partial(set_aside, team, path),
            )
            continue
        try:
            with undisturbed(path, team.settings, team.clock, held):
                data = files.find_bytes(path) or b""
        except LockTimeoutError as error:
            yield held_lock(error, path)
            continue
        if not _is_sound(data, is_tasks=entry == "tasks"):
            yield Finding(
                kind="damaged_lock",
                path=path,
                what="it holds what no holder of the lock writes",
                remedy="it is written anew",
                mend=partial(renew_lock, team, path),
            )


def held_lock(error: LockTimeoutError, path: str) -> Finding:
    """Say who holds a lock for too long; only its holder can give it back."""
    holder = str(error.details.get("holder") or "somebody")
    pid = re.search(r"pid (\d+)", holder)
    stopped = " and is stopped" if pid and _state_of(pid[1]) == _STOPPED else ""
    return Finding(kind="held_lock", path=path, what=f"{holder} holds this lock{stopped}, and others wait")


def _state_of(pid: str) -> str:
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return ""


def _make_folder(team: Team, folder: str) -> None:
    if os.path.lexists(folder):
        set_aside(team, folder)
    syscalls.make_folders(folder)


def _link(team: Team) -> Iterator[Finding]:
    link, target = team.layout.tasks_link, f"../../tasks/{team.name}"
    if os.path.islink(link) and os.path.realpath(link) == os.path.realpath(team.layout.tasks_dir):
        return
    if os.path.islink(link):
        what = f"the link leads to {os.readlink(link)}, not to the tasks of this team"
    else:
        what = "it is no link to the tasks of this team" if os.path.lexists(link) else "the link is missing"
    yield Finding(
        kind="broken_link",
        path=link,
        what=what,
        remedy=f"it links to {target}",
        mend=partial(_relink, team, link, target),
    )


def _relink(team: Team, link: str, target: str) -> None:
    if os.path.islink(link):
        syscalls.unlink(link)
    elif os.path.lexists(link):
        set_aside(team, link)
    syscalls.symlink(target, link)


def _modes(team: Team) -> Iterator[Finding]:
    """Find in one what others may read, or its owner may not: a copied team often has all modes wrong."""
    wrong = [path for path in _everything(team) if _mode(path) not in (None, _wanted(path))]
    if wrong:
        first, number = wrong[0], len(wrong)
        others = f", and {number - 1} more of this team" if number > 1 else ""
        yield Finding(
            kind="wrong_mode",
            path=first,
            what=f"its mode is {_mode(first):04o} and should be {_wanted(first):04o}{others}",
            remedy="it is set" if number == 1 else "all are set",
            mend=partial(_set_modes, wrong),
        )


def _everything(team: Team) -> Iterator[str]:
    for root in (team.layout.team_dir, team.layout.tasks_dir):
        for folder, _, names in os.walk(root):
            yield folder
            yield from (f"{folder}/{name}" for name in sorted(names))


def _mode(path: str) -> int | None:
    try:
        found = os.lstat(path).st_mode
    except FileNotFoundError:
        return None
    return None if stat.S_ISLNK(found) else stat.S_IMODE(found)


def _wanted(path: str) -> int:
    return syscalls.FOLDER_MODE if os.path.isdir(path) else syscalls.FILE_MODE


def _set_modes(paths: list[str]) -> None:
    for path in paths:
        if _mode(path) is not None:
            os.chmod(path, _wanted(path))


def _foreign_lock(team: Team, path: str) -> Iterator[Finding]:
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return
    is_folder = stat.S_ISDIR(found.st_mode)
    if is_folder and team.clock.now() - found.st_mtime < _FOREIGN_LOCK_SECONDS:
        return
    empty = is_folder and not syscalls.list_folder(path)
    yield Finding(
        kind="stale_lock",
        path=path,
        what="another client takes this for a lock that somebody holds",
        remedy="the empty folder is removed" if empty else "it is set aside",
        mend=partial(syscalls.remove_empty_folder, path) if empty else partial(set_aside, team, path),
    )


def _is_sound(data: bytes, *, is_tasks: bool) -> bool:
    mark, holder = data[:MARK_SIZE].strip(b"\0 "), data[HOLDER_OFFSET:].rstrip(b"\0 ")
    mark_is_sound = not mark or (is_tasks and bool(_MARK.fullmatch(mark)))
    return len(data) <= _LOCK_SIZE and mark_is_sound and (not holder or bool(_HOLDER.fullmatch(holder)))


def renew_lock(team: Team, path: str) -> None:
    """Empty a lock file while nobody is in it. After the task lock's, the next holder mends all it guards."""
    with FileLock(path, team.settings, team.clock, "doctor") as lock:
        syscalls.truncate(lock.fd, path, 0)
    if path == team.layout.lock("tasks"):
        write_mark_again(team)


def write_mark_again(team: Team) -> None:
    """Take the task lock once: that cuts, repairs and marks what a killed writer left."""
    ledger = Ledger(team.layout, USER, team.settings, team.clock)
    try:
        with ledger.locked():
            pass
    finally:
        ledger.close()
