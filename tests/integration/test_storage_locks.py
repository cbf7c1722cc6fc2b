"""Locks and processes that end, fork and stop."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from swarm.core.task import NewTask
from swarm.errors import LockTimeoutError
from swarm.storage import processes
from swarm.storage.clock import SystemClock
from swarm.storage.lock import FileLock
from swarm.testing.wait import wait_until
from tests.support.racers import REPOSITORY, Racer
from tests.support.stores import SETTINGS, make_team

HOLD = """
lock = team.tasks(name)._ledger
with lock.locked():
    say("inside")
    sys.stdin.readline()
"""


def holding(tmp_path: Path, code: str = HOLD) -> Racer:
    racer = Racer(tmp_path, "w1", code)
    racer.wait_ready()
    racer.go()
    assert racer.heard() == "inside"
    return racer


def test_lock_of_a_killed_process_is_free_at_once(tmp_path: Path) -> None:
    team = make_team(tmp_path)
    racer = holding(tmp_path)
    racer.end()
    team.tasks("user").create(NewTask(subject="goes on"))


def test_stopped_holder_is_named_after_the_time_limit(tmp_path: Path) -> None:
    """It blocks everybody; who waits must learn which process to look at."""
    team = make_team(tmp_path, settings=SETTINGS.replace(lock_timeout_seconds=0.2))
    racer = holding(tmp_path)
    try:
        racer.process.send_signal(signal.SIGSTOP)
        real_time = SETTINGS.replace(lock_timeout_seconds=0.2)
        lock = FileLock(team.layout.lock("tasks"), real_time, SystemClock(), "user@demo")
        with pytest.raises(LockTimeoutError) as caught:
            lock.acquire()
        assert caught.value.details["holder"] == f"w1@demo (pid {racer.process.pid})"
    finally:
        racer.end()


def test_forked_child_neither_keeps_nor_releases_the_lock(tmp_path: Path) -> None:
    """Both could happen: it inherits the descriptor, and with it the kernel's lock."""
    team = make_team(tmp_path)
    racer = holding(
        tmp_path,
        """
import os, signal
with team.tasks(name)._ledger.locked():
    child = os.fork()
    if child == 0:
        try:
            team.tasks(name)._ledger._lock.release()
        finally:
            print(json.dumps("inside"), flush=True)
            signal.pause()
    sys.stdin.readline()
say(child)
signal.pause()
""",
    )
    try:
        lock = FileLock(team.layout.lock("tasks"), SETTINGS, SystemClock(), "user@demo")
        assert not lock.try_acquire()
        racer.go()
        child = racer.heard()
        wait_until(lock.try_acquire)
        lock.release()
        os.kill(child, signal.SIGKILL)
    finally:
        racer.end()


def test_command_started_under_the_lock_does_not_keep_it(tmp_path: Path) -> None:
    lock = FileLock(str(tmp_path / "lock"), SETTINGS, SystemClock(), "w1@demo")
    other = FileLock(str(tmp_path / "link" / "lock"), SETTINGS, SystemClock(), "w2@demo")
    assert other.path != lock.path
    with lock, subprocess.Popen(["sleep", "60"]) as child:
        open_files = [os.readlink(f"/proc/{child.pid}/fd/{fd}") for fd in os.listdir(f"/proc/{child.pid}/fd")]
        assert str(tmp_path / "lock") not in open_files
        child.kill()


def test_process_that_waits_to_be_reaped_counts_as_gone() -> None:
    """Its pid and start time are still there, but nobody works any more."""
    with subprocess.Popen(["true"]) as child:
        wait_until(lambda: processes.start_ticks(child.pid) is None)


def test_store_imports_nothing_heavy() -> None:
    """A one-shot command pays for every module; these cost more than its work."""
    heavy = (
        "asyncio", "click", "dataclasses", "inspect", "logging", "networkx", "pathlib", "psutil", "pydantic",
        "random", "rich", "shutil", "socket", "subprocess", "tempfile", "uuid", "yaml",
    )  # fmt: skip
    names = sorted(path.stem for path in (REPOSITORY / "swarm" / "storage").glob("[a-z]*.py"))
    code = "\n".join(f"import swarm.storage.{name}" for name in names) + f"""
import sys
loaded = [name for name in {heavy!r} if name in sys.modules]
sys.exit(", ".join(loaded) or 0)
"""  # fmt: skip
    ended = subprocess.run(
        [sys.executable, "-S", "-c", code], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stderr) == (0, "")
