"""Health of a task list: the journal, and the files that follow it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from functools import partial

from swarm.core.identity import USER
from swarm.core.operations import Body
from swarm.core.table import TaskTable
from swarm.core.task import Task, render_task
from swarm.errors import CorruptStateError, LockTimeoutError
from swarm.storage import files, syscalls
from swarm.storage.finding import Finding, Held, keep_copy, set_aside, undisturbed
from swarm.storage.hands import is_left_over
from swarm.storage.health_folders import held_lock, renew_lock, write_mark_again
from swarm.storage.health_links import changing, find_loop, find_one_sided_links
from swarm.storage.journal import Journal
from swarm.storage.mark import find_mark
from swarm.storage.task_files import Damaged, TaskFiles
from swarm.storage.team import Team

_KNOWN = re.compile(
    r"[1-9][0-9]{0,8}\.json|\.highwatermark|\.journal\.jsonl(\.new)?|\.journal\.damaged-.*|\..+\.[0-9]+\.tmp|.*\.lock",
    re.ASCII,
)


def examine_tasks(team: Team, held: Held) -> Iterator[Finding]:
    """Find what differs from the journal, and what the journal itself has wrong. Takes the task lock."""
    if not os.path.isdir(team.layout.tasks_dir):
        what = f"the task list of team {team.name} is missing"
        yield Finding(kind="missing_tasks", path=team.layout.tasks_dir, what=what)
        return
    yield from _odd_files(team)
    lock = team.layout.lock("tasks")
    try:
        with undisturbed(lock, team.settings, team.clock, held):
            found = list(_task_list(team))
    except LockTimeoutError as error:
        found = [held_lock(error, lock)]
    yield from found


def _task_list(team: Team) -> Iterator[Finding]:
    path = team.layout.journal
    data = files.find_bytes(path)
    if data is None:
        yield Finding(
            kind="missing_journal",
            path=path,
            what="the journal of the tasks is missing",
            remedy="it is made anew from what the task files say",
            mend=partial(_begin_anew, team),
        )
        return
    torn = len(data) - data.rfind(b"\n") - 1
    if torn:
        yield Finding(
            kind="torn_tail",
            path=path,
            what=f"its last line was never finished ({torn} bytes)",
            remedy="it is cut off, and kept aside",
            mend=partial(_cut, team),
        )
    journal = Journal(team.layout)
    try:
        journal.refresh()
    except CorruptStateError as error:
        yield Finding(
            kind="damaged_journal",
            path=path,
            what=error.why,
            remedy="it is cut there, the rest is kept, and what the task files know beyond it is taken over",
            mend=partial(renew_lock, team, team.layout.lock("tasks")),
        )
        return
    finally:
        journal.close()
    mark = find_mark(team.layout.lock("tasks"))
    if mark is not None and mark.of_this_boot and mark.seq > journal.table.seq:
        yield Finding(
            kind="cut_journal",
            path=path,
            what=f"it ends with line {journal.table.seq}, and had line {mark.seq}",
            remedy="what the task files know beyond it is taken over, and it goes on with higher numbers",
            mend=partial(write_mark_again, team),
        )
        return
    yield from _files(team, journal.table)
    yield from _counter(team)
    yield from find_one_sided_links(team, journal.table)
    yield from find_loop(team, journal.table)


def _odd_files(team: Team) -> Iterator[Finding]:
    folder = team.layout.tasks_dir
    for entry in sorted(syscalls.list_folder(folder)):
        path = f"{folder}/{entry}"
        is_file = os.path.isfile(path) and not os.path.islink(path)
        if not _KNOWN.fullmatch(entry) or not (is_file or entry.endswith(".lock")):
            yield Finding(
                kind="odd_file",
                path=path,
                what="it is neither a task nor a file of ours",
                remedy="it is set aside",
                mend=partial(set_aside, team, path),
            )


def _files(team: Team, table: TaskTable) -> Iterator[Finding]:
    task_files = TaskFiles(team.layout, team.settings)
    for task in table.tasks():
        path = team.layout.task(task.id)
        if os.path.isdir(path):
            continue  # an odd file, and missing once that is gone
        kind, what = _difference(task_files, task)
        if kind:
            yield Finding(
                kind=kind,
                path=path,
                what=what,
                remedy=_REMEDIES[kind],
                mend=partial(_sweep, team, path, keep=kind in _KEPT),
            )
    for task_id in task_files.ids():
        if table.find(task_id) is None:
            what, remedy, mend = _unknown(team, table, task_files, task_id)
            path = team.layout.task(task_id)
            yield Finding(kind="unknown_task_file", path=path, what=what, remedy=remedy, mend=mend)


def _unknown(
    team: Team, table: TaskTable, task_files: TaskFiles, task_id: str
) -> tuple[str, str, Callable[[], object]]:
    """Return what a file is that the journal does not know, and what the store does with it as well."""
    path = team.layout.task(task_id)
    try:
        found = task_files.read(task_id)
    except Damaged as damage:
        return f"it is no task: {damage}", "it is set aside", partial(_set_aside_no_task, team, task_id)
    if found is not None and is_left_over(table, found, table.seq):
        what, remedy = f"task {task_id} was deleted", "it is removed, and a copy is kept aside"
        return what, remedy, partial(_sweep, team, path, keep=True)
    what, remedy = f"another hand has added task {task_id}", "it is taken over as a new task"
    return what, remedy, partial(_sweep, team, path, keep=False)


_REMEDIES = {
    "missing_task_file": "it is written again from the journal",
    "damaged_task_file": "it is written again from the journal, and a copy is kept aside",
    "stale_task_file": "it is brought up to date with the journal",
    "edited_task_file": "what may be changed is taken over, the rest is put back; a copy is kept aside",
}
_KEPT = ("damaged_task_file", "edited_task_file")


def _difference(task_files: TaskFiles, task: Task) -> tuple[str, str]:
    """Return the kind of difference between a task and its file, and a sentence; two empty texts if none."""
    try:
        on_disk = task_files.find(task.id)
    except CorruptStateError as error:
        return "damaged_task_file", f"it cannot be read: {error.why}"
    if on_disk is None:
        return "missing_task_file", f"task {task.id} has no file"
    fields = _differing(on_disk, task)
    if not fields:
        return "", ""
    names = ", ".join(key.removeprefix("swarm.") for key in fields)
    if 0 < on_disk.seq < task.seq:
        return "stale_task_file", f"it lags behind the journal in {names}"
    return "edited_task_file", f"somebody else changed {names} in it"


def _differing(on_disk: Task, task: Task) -> list[str]:
    """Return what differs; what others added to the file is theirs, and no difference."""
    there, here = _flat(on_disk), _flat(task)
    return sorted(key for key in here.keys() | there.keys() & _OURS if here.get(key) != there.get(key))


_OURS = frozenset(
    ["owner", "activeForm"]
    + [f"swarm.{key}" for key in "requires files verify claim result reason attempts crashes".split()]
)
"""Fields that a task of ours may lack; where it does, its file must lack them as well."""


def _flat(task: Task) -> Body:
    obj = render_task(task)
    metadata = obj.pop("metadata", {})
    swarm = metadata.pop("swarm", {})
    return (
        obj
        | {f"metadata.{key}": value for key, value in metadata.items()}
        | {f"swarm.{key}": value for key, value in swarm.items()}
    )


def _begin_anew(team: Team) -> None:
    """Make an empty journal: whoever then takes the lock finds that it was cut, and takes over all files.

    One that has come back meanwhile is left as it is.
    """
    syscalls.close(syscalls.create_file(team.layout.journal, os.O_RDWR))
    team.tasks(USER).sweep()


def _cut(team: Team) -> None:
    data = files.find_bytes(team.layout.journal) or b""
    tail = data[data.rfind(b"\n") + 1 :]
    if tail:
        keep_copy(team, team.layout.journal, tail)
        write_mark_again(team)


def _sweep(team: Team, path: str, *, keep: bool) -> None:
    """Let the store judge what differs: it takes over what may be changed, and puts back the rest."""
    data = files.find_bytes(path) if keep else None
    if data:
        keep_copy(team, path, data)
    team.tasks(USER).sweep()


def _set_aside_no_task(team: Team, task_id: str) -> None:
    """Set a file aside unless it has become a task: who wrote it may have been at it."""
    path = team.layout.task(task_id)
    _sweep(team, path, keep=False)
    if team.tasks(USER).table().find(task_id) is None and syscalls.find_stat(path) is not None:
        set_aside(team, path)


def _counter(team: Team) -> Iterator[Finding]:
    path = team.layout.highwatermark
    text = (files.find_bytes(path) or b"0").strip()
    if not text.isdigit():
        yield Finding(
            kind="damaged_counter",
            path=path,
            what="it holds no number; new ids follow the journal all the same",
            remedy="the highest id is written again",
            mend=partial(_count_again, team),
        )


def _count_again(team: Team) -> None:
    with changing(team) as ledger:
        highest = ledger.refresh().next_id - 1
        files.write_bytes(team.layout.highwatermark, str(highest).encode())
