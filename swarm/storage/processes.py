"""Who a process is, and whether it is still there: host, boot, pid namespace, pid and start time.

On Linux all of it comes from `/proc`; elsewhere from psutil, imported when first asked.
"""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING

from swarm.core.identity import encode_run

if TYPE_CHECKING:
    from swarm.core.agent import AgentRecord

_START_FIELD = 19  # field 22 of /proc/<pid>/stat, counted from the state behind the command's bracket
_GONE = ("Z", "X", "x")
_TICKS_ELSEWHERE = 100


@cache
def host() -> str:
    return os.uname().nodename


@cache
def boot_id() -> str:
    """Return what changes at each boot; where the kernel gives no id, the time of the boot."""
    text = _proc_text("/proc/sys/kernel/random/boot_id")
    if text is not None:
        return text.strip()
    import psutil

    return f"boot-{psutil.boot_time():.0f}"


@cache
def pid_ns() -> int:
    """Return the pid namespace, in which alone a pid means something; 0 where there are none."""
    try:
        return os.stat("/proc/self/ns/pid").st_ino
    except OSError:
        return 0


def start_ticks(pid: int) -> int | None:
    """Return when a process started; None when there is no such process, or only its exit status is left."""
    text = _proc_text(f"/proc/{pid}/stat")
    if text is not None:
        fields = text[text.rindex(")") + 2 :].split()
        return None if fields[0] in _GONE else int(fields[_START_FIELD])
    return None if os.path.exists("/proc/self/stat") else _start_elsewhere(pid)


def _start_elsewhere(pid: int) -> int | None:
    import psutil

    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return None
        return int(process.create_time() * _TICKS_ELSEWHERE)
    except psutil.Error:
        return None


def _proc_text(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return None


def own_start_ticks() -> int:
    """Return when this process started; after a fork, the child's own time."""
    return _own_start_ticks(os.getpid())


@cache
def _own_start_ticks(pid: int) -> int:
    return start_ticks(pid) or 0


def liveness(record: AgentRecord) -> str:
    """Return `alive`, `dead` or `unknown` for the process that a record names.

    `dead` is proven: same host and namespace, and the identity is gone. Nothing is concluded about another
    host or namespace, nor about an agent that has not come up yet.
    """
    if record.pid is None or record.host != host() or record.pid_ns != pid_ns():
        return "unknown"
    if record.boot_id != boot_id():
        return "dead"
    return "alive" if start_ticks(record.pid) == record.start_ticks else "dead"


def new_run() -> str:
    """Return a new run's id: 8 letters and digits."""
    return encode_run(os.urandom(5))


def new_short_id() -> str:
    """Return 8 random letters and digits, for a session."""
    return encode_run(os.urandom(5))


def new_msg_id() -> str:
    """Return a random uuid (version 4) as text; the `uuid` module is not worth its import."""
    raw = bytearray(os.urandom(16))
    raw[6] = raw[6] & 0x0F | 0x40
    raw[8] = raw[8] & 0x3F | 0x80
    digits = raw.hex()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
