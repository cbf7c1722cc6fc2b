"""Ending a git command before its time, so that it neither goes on nor leaves the repository locked."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess

from swarm.workspace.processes import Leader, kill_tree, start_ticks

_TERM_WAIT_SECONDS = 2.0
_KILL_WAIT_SECONDS = 2.0
_CLOCK_SLACK_NS = 1_000_000_000


def end_git(process: subprocess.Popen[bytes], mark: str) -> None:
    """End git and all that it started. Asked first, because git then takes its locks back by itself."""
    leader = Leader(process.pid, start_ticks(process.pid) or 0)
    with contextlib.suppress(OSError):
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(_TERM_WAIT_SECONDS)
    kill_tree(leader, mark, _KILL_WAIT_SECONDS)
    process.wait()


def remove_locks(git_dir: str, pid: int, began_ns: int) -> None:
    """Remove the locks on the index that the commit with this pid left when it was killed; no others.

    Its own second index carries the pid in its name. It is made while the lock on the index is held, so a
    lock on the index that is older than it, and younger than the commit, is the commit's too.
    """
    own = f"next-index-{pid}.lock"
    try:
        made = os.stat(os.path.join(git_dir, own)).st_mtime_ns
        left = [name for name in os.listdir(git_dir) if name.startswith(own)]
    except OSError:
        return
    earliest = began_ns - _CLOCK_SLACK_NS
    if made < earliest:
        return  # of an earlier process with the same number
    with contextlib.suppress(OSError):
        if earliest <= os.stat(os.path.join(git_dir, "index.lock")).st_mtime_ns <= made:
            left.append("index.lock")
    for name in left:
        with contextlib.suppress(OSError):
            os.unlink(os.path.join(git_dir, name))
