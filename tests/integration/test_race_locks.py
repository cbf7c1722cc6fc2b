"""Locks beside children of every kind: none is kept by a child, and none given away by it."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from swarm.core.task import NewTask
from swarm.storage.clock import SystemClock
from swarm.storage.lock import FileLock
from swarm.testing.wait import wait_until
from tests.support.racers import Racer
from tests.support.stores import SETTINGS, make_team

CHILDREN = {
    "command": "pid = subprocess.Popen(['sleep', '60']).pid",
    "command_with_all_files": "pid = subprocess.Popen(['sleep', '60'], close_fds=False).pid",
    "command_in_own_session": "pid = subprocess.Popen(['sleep', '60'], start_new_session=True).pid",
    "spawned": "pid = os.posix_spawn('/bin/sleep', ['sleep', '60'], os.environ)",
    "background_of_bash": """
done = subprocess.run(['bash', '-c', 'sleep 60 >/dev/null 2>&1 & echo $!'], close_fds=False, stdout=-1)
pid = int(done.stdout)
""",
    "background_of_system": "os.system('sleep 60 & echo $! > ' + pid_file); pid = int(open(pid_file).read())",
    "forked": "pid = forked(signal.pause)",
    "forked_that_ends_its_locks": "pid = forked(lambda: (store._ledger._lock.release(), signal.pause()))",
    "forked_that_drops_its_stores": "pid = forked(drop_all)",
    "forked_with_a_terminal": """
pid, _ = pty.fork()
if pid == 0:
    signal.pause()
""",
    "multiprocessing": """
process = multiprocessing.get_context('fork').Process(target=signal.pause)
process.start()
pid = process.pid
""",
    "grandchild": "pid = forked(lambda: subprocess.run(['sleep', '60'], close_fds=False))",
}
HOLD_WITH_CHILD = """
import gc, multiprocessing, os, pty, signal, subprocess
store = team.tasks(name)
pid_file = sys.argv[1] + '/pid'
def forked(act):
    pid = os.fork()
    if pid == 0:
        os.setsid()
        act()
        os._exit(0)
    return pid
def drop_all():
    global store, team
    store.close()
    store = None
    team._tasks.clear()
    gc.collect()
    signal.pause()
with store._ledger.locked():
{child}
    say(pid)
    sys.stdin.readline()
say("out")
sys.stdin.readline()
"""


def holder(tmp_path: Path, child: str) -> tuple[Racer, int]:
    """Return a process that holds the task lock and has this child, and the child's pid."""
    code = "\n".join(f"    {line}" for line in CHILDREN[child].strip().splitlines())
    racer = Racer(tmp_path, "w1", HOLD_WITH_CHILD.replace("{child}", code))
    racer.wait_ready()
    racer.go()
    return racer, racer.heard()


def end(racer: Racer, child: int) -> None:
    """End both, and what the child started in turn."""
    try:
        os.killpg(child, signal.SIGKILL)
    except ProcessLookupError:
        os.kill(child, signal.SIGKILL)
    racer.end()


@pytest.mark.parametrize("child", CHILDREN)
def test_lock_ends_with_its_process_whatever_child_lives_on(tmp_path: Path, child: str) -> None:
    team = make_team(tmp_path)
    racer, pid = holder(tmp_path, child)
    try:
        lock = FileLock(team.layout.lock("tasks"), SETTINGS, SystemClock(), "user@demo")
        assert not lock.try_acquire()  # the child has not given it away
        racer.process.kill()
        racer.process.wait()
        os.kill(pid, 0)
        team.tasks("user").create(NewTask(subject="goes on"))
    finally:
        end(racer, pid)


@pytest.mark.parametrize("child", CHILDREN)
def test_lock_that_is_given_back_is_free_whatever_child_lives_on(tmp_path: Path, child: str) -> None:
    team = make_team(tmp_path)
    racer, pid = holder(tmp_path, child)
    try:
        racer.go()
        assert racer.heard() == "out"
        os.kill(pid, 0)
        team.tasks("user").create(NewTask(subject="goes on"))
    finally:
        end(racer, pid)


def test_end_of_a_forked_child_leaves_the_lock_with_its_parent(tmp_path: Path) -> None:
    """The kernel's lock belongs to both; a child that unlocked, or only ended politely, could free it."""
    team = make_team(tmp_path)
    racer, pid = holder(tmp_path, "forked_that_ends_its_locks")
    try:
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not Path(f"/proc/{pid}/cmdline").read_bytes())
        lock = FileLock(team.layout.lock("tasks"), SETTINGS, SystemClock(), "user@demo")
        assert not lock.try_acquire()
        racer.go()
        assert racer.heard() == "out"
        team.tasks("user").create(NewTask(subject="goes on"))
    finally:
        racer.end()
