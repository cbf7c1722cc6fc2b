"""Stops a process for a while, but not inside a lock: it would keep the lock from everybody else."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path
from typing import Any

from swarm.storage import syscalls
from swarm.storage.team import Team
from swarm.testing.wait import wait_until


def pause(process: subprocess.Popen[Any], team: Team) -> None:
    """Stop this child of ours at a moment when nobody holds a lock of the team; return when it stands."""
    wait_until(lambda: _stands_outside_of_locks(process, team), what="a moment without locks")


def go_on(process: subprocess.Popen[Any]) -> None:
    process.send_signal(signal.SIGCONT)


def _stands_outside_of_locks(process: subprocess.Popen[Any], team: Team) -> bool:
    process.send_signal(signal.SIGSTOP)
    _, status = os.waitpid(process.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status)
    if all(_is_free(path) for path in Path(team.layout.locks_dir).iterdir()):
        return True
    go_on(process)
    return False


def _is_free(path: Path) -> bool:
    fd = os.open(path, os.O_RDWR)
    try:
        return syscalls.lock_now(fd, str(path))
    finally:
        os.close(fd)
