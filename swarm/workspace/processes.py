"""Processes of a command, found by session, parentage and a mark in their environment; never by name.

A process is always meant by its pid *and* its start ticks, so that a number used again hits nobody else.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

_POLL_SECONDS = 0.01
_LOOKS = 3
_LOOK_SECONDS = 0.002
_KERNEL = 2
"""The parent of all threads of the kernel, which never have an environment."""


class Leader(NamedTuple):
    """The process that a command was started as: it leads a session and a group of its own."""

    pid: int
    start_ticks: int


class Seen(NamedTuple):
    """One live process at the moment of the look."""

    pid: int
    parent: int
    group: int
    session: int
    start_ticks: int


def start_ticks(pid: int) -> int | None:
    """Return when the process started, in clock ticks since boot; None when it is gone or only a zombie."""
    seen = _look_at(pid)
    return None if seen is None else seen.start_ticks


def is_running(pid: int, ticks: int) -> bool:
    """Tell whether this very process still runs; a zombie does not."""
    return start_ticks(pid) == ticks


def members(leader: Leader | None, mark: str | None) -> tuple[Seen, ...]:
    """Return what still runs of the leader's tree, and all that carries the `mark` ("NAME=value").

    The leader itself may be gone: then its session and the mark still tell who belongs to it.
    """
    table = {seen.pid: seen for seen in _look_around()}
    found = set() if mark is None else _marked(table.values(), mark)
    if leader is not None and not _is_recycled(leader, table):
        found |= {seen.pid for seen in table.values() if leader.pid in (seen.pid, seen.session, seen.group)}
    _add_descendants(found, table.values())
    found.discard(os.getpid())
    return tuple(table[number] for number in sorted(found))


def ask_to_end(process: Leader) -> bool:
    """Send TERM to this very process; False when it is gone. Nobody who got its number since is hit."""
    try:
        handle = os.pidfd_open(process.pid) if hasattr(os, "pidfd_open") else None
    except OSError:
        return False
    try:
        if not is_running(*process):
            return False
        if handle is None:
            os.kill(process.pid, signal.SIGTERM)
        else:
            signal.pidfd_send_signal(handle, signal.SIGTERM)
    except ProcessLookupError:
        return False
    finally:
        if handle is not None:
            os.close(handle)
    return True


def ask_marked(mark: str, wait: float) -> None:
    """Send TERM to all that carries the `mark` ("NAME=value"); wait until those that lead a session are gone.

    That is what was started as a command; what it has started may be deaf, and is not waited for.
    """
    deadline = time.monotonic() + wait
    asked = members(None, mark)
    for seen in asked:
        ask_to_end(Leader(seen.pid, seen.start_ticks))
    commands = [seen for seen in asked if seen.pid == seen.session]
    while any(is_running(seen.pid, seen.start_ticks) for seen in commands) and time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)


def kill_one(process: Leader) -> None:
    """Kill this very process, and nothing that it has started."""
    if is_running(*process):
        with contextlib.suppress(OSError):
            os.kill(process.pid, signal.SIGKILL)


def kill_tree(leader: Leader | None, mark: str | None, wait: float) -> tuple[int, ...]:
    """Kill that tree and return the pids that are still there after `wait` seconds; usually none.

    Looks again after each round: a child started meanwhile, or moved to another session, goes too.
    """
    deadline = time.monotonic() + wait
    known: set[tuple[int, int]] = set()
    while True:
        known |= {(seen.pid, seen.start_ticks) for seen in members(leader, mark)}
        known = {one for one in known if is_running(*one)}
        if not known:
            return ()
        _kill_all(leader, known)
        if time.monotonic() >= deadline:
            return tuple(sorted(number for number, _ in known))
        time.sleep(_POLL_SECONDS)


def _is_recycled(leader: Leader, table: Mapping[int, Seen]) -> bool:
    """Tell whether the pid means another process now. No system reuses it while its group has members."""
    now = table.get(leader.pid)
    return now is not None and now.start_ticks != leader.start_ticks


def _kill_all(leader: Leader | None, known: Iterable[tuple[int, int]]) -> None:
    if leader is not None and is_running(*leader):
        _kill_group(leader.pid)  # at one instant, so that a fork bomb does not outrun the loop below
    for one in known:
        if is_running(*one):
            with contextlib.suppress(OSError):
                os.kill(one[0], signal.SIGKILL)


def _kill_group(pid: int) -> None:
    with contextlib.suppress(OSError):
        if os.getpgid(pid) == pid:  # else it leads no group, and the number means somebody else's
            os.killpg(pid, signal.SIGKILL)


def _add_descendants(found: set[int], table: Iterable[Seen]) -> None:
    """Extend `found` by the children of its members, and theirs."""
    children: dict[int, list[int]] = {}
    for seen in table:
        children.setdefault(seen.parent, []).append(seen.pid)
    waiting = list(found)
    while waiting:
        new = [child for child in children.get(waiting.pop(), ()) if child not in found]
        found.update(new)
        waiting.extend(new)


def _look_around() -> list[Seen]:
    """Return every process of this machine that is not a zombie."""
    if not _has_proc():
        return _look_around_portably()
    numbers = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    return [seen for seen in map(_look_at, numbers) if seen is not None]


def _look_at(pid: int) -> Seen | None:
    if not _has_proc():
        return next((seen for seen in _look_around_portably() if seen.pid == pid), None)
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            text = file.read()
    except OSError:
        return None
    # The name in parentheses may hold anything, so the numbers are counted from its last bracket.
    fields = text[text.rindex(b")") + 2 :].split()
    if fields[0] in (b"Z", b"X"):
        return None
    return Seen(pid, int(fields[1]), int(fields[2]), int(fields[3]), int(fields[19]))


def _marked(table: Collection[Seen], mark: str) -> set[int]:
    """Return who carries the mark. In the middle of an exec nothing can be seen of it: look again then."""
    found: set[int] = set()
    waiting = [seen.pid for seen in table]
    kernel = {seen.pid for seen in table if _KERNEL in (seen.pid, seen.parent)}
    for _ in range(_LOOKS):
        looks = {pid: _carries(pid, mark) for pid in waiting}
        found |= {pid for pid, carries in looks.items() if carries}
        waiting = [pid for pid, carries in looks.items() if carries is None and pid not in kernel]
        if not waiting:
            break
        time.sleep(_LOOK_SECONDS)
    return found


def _carries(pid: int, mark: str) -> bool | None:
    """Tell whether a process carries the mark; None when it has no environment at this moment."""
    if not _has_proc():
        return _carries_portably(pid, mark)
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            environ = file.read()
    except OSError:
        return False  # somebody else's process
    return b"\0" + os.fsencode(mark) + b"\0" in b"\0" + environ + b"\0" if environ else None


def _has_proc() -> bool:
    return os.path.exists("/proc/self/stat")


def _look_around_portably() -> list[Seen]:
    """The same without /proc."""
    import psutil

    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if process.status() != psutil.STATUS_ZOMBIE:
                pid = process.pid
                ticks = round(process.create_time() * 100)
                found.append(Seen(pid, process.ppid(), os.getpgid(pid), os.getsid(pid), ticks))
    return found


def _carries_portably(pid: int, mark: str) -> bool:
    import psutil

    name, _, value = mark.partition("=")
    try:
        return psutil.Process(pid).environ().get(name) == value
    except psutil.Error:
        return False
