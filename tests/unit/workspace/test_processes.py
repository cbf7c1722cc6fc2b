"""Processes are meant by pid and start, found by session, parentage and mark, and killed as one."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time

import pytest

from swarm.core.identity import make_run_id
from swarm.storage.processes import new_run
from swarm.testing.wait import wait_until
from swarm.workspace import processes
from swarm.workspace.processes import (
    Leader,
    ask_marked,
    is_running,
    kill_one,
    kill_tree,
    members,
    start_ticks,
)


@pytest.fixture
def start():
    """Starts commands as leaders of their own session; ends and reaps them afterwards."""
    started = []

    def start(command, **environ):
        process = subprocess.Popen(
            ["bash", "-c", command],
            env=os.environ | environ,
            start_new_session=True,
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.__exit__(None, None, None)


def leader_of(process):
    return Leader(process.pid, start_ticks(process.pid) or 0)


def test_a_process_in_the_middle_of_an_exec_is_looked_at_again(start, monkeypatch):
    """For a moment it has no environment, and so no mark."""
    mark = make_run_id(new_run(), "w1", 1)
    process = start("echo up; sleep 60", SWARM_RUN_ID=mark)
    process.stdout.readline()
    changing, look = {process.pid}, processes._carries

    def carries(pid, wanted):
        if pid in changing:
            changing.remove(pid)
            return None
        return look(pid, wanted)

    monkeypatch.setattr(processes, "_carries", carries)
    assert process.pid in {seen.pid for seen in members(None, f"SWARM_RUN_ID={mark}")}


def test_a_process_is_its_pid_and_its_start(start):
    """A number used again is another process."""
    process = start("sleep 60")
    ticks = start_ticks(process.pid)

    assert ticks is not None
    assert is_running(process.pid, ticks)
    assert not is_running(process.pid, ticks + 1)


def test_a_zombie_does_not_run(start):
    """It is an exit status that nobody has asked for."""
    process = start("exit 0")
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)

    assert os.path.exists(f"/proc/{process.pid}")
    assert start_ticks(process.pid) is None


def test_a_name_with_brackets_does_not_confuse(tmp_path):
    """A program may call itself anything, also like the end of its own record."""
    program = tmp_path / ") S 1 1 1 (x"
    program.symlink_to("/bin/sleep")
    process = subprocess.Popen([str(program), "60"])
    try:
        (seen,) = [seen for seen in processes._look_around() if seen.pid == process.pid]
        assert seen.parent == os.getpid()
    finally:
        process.kill()
        process.wait()


def test_a_recycled_leader_has_no_members(start):
    """Somebody else got the number: none of its processes are ours to kill."""
    process = start("sleep 60 & sleep 61")
    leader = leader_of(process)

    wait_until(lambda: len(members(leader, None)) == 3)
    assert members(leader._replace(start_ticks=leader.start_ticks - 1), None) == ()
    assert kill_tree(leader._replace(start_ticks=leader.start_ticks - 1), None, 0.1) == ()
    assert process.poll() is None


def test_the_group_outlives_its_leader(start):
    """The shell is done, its child is not: the record still finds it."""
    process = start("sleep 60 & echo $!")
    child = int(process.stdout.readline())
    leader = leader_of(process)
    process.wait()

    assert [seen.pid for seen in members(leader, None)] == [child]
    assert kill_tree(leader, None, 2) == ()
    assert start_ticks(child) is None


def test_who_carries_a_mark_is_asked_and_what_is_deaf_below_it_is_not_waited_for(start):
    mark = new_run()
    process = start(
        "trap 'echo asked; exit 3' TERM; (trap '' TERM; echo up; exec sleep 60) & wait", SWARM_COMMIT=mark
    )
    assert process.stdout.readline() == "up\n"
    other = start("sleep 60", SWARM_COMMIT=f"{mark}0")
    began = time.monotonic()

    ask_marked(f"SWARM_COMMIT={mark}", 20)

    assert time.monotonic() - began < 10
    assert process.stdout.readline() == "asked\n"
    assert process.wait() == 3
    assert other.poll() is None


def test_one_process_is_killed_and_not_who_has_its_number_since(start):
    process = start("sleep 60 & echo $!; wait")
    child = int(process.stdout.readline())

    kill_one(leader_of(process)._replace(start_ticks=1))
    assert process.poll() is None
    kill_one(leader_of(process))

    assert process.wait() == -signal.SIGKILL
    assert start_ticks(child) is not None


def test_a_mark_finds_what_has_left_the_tree(start):
    """A worker's life marks all its children; after a crash the mark is all that is left."""
    mark = make_run_id(new_run(), "w1", 1)
    process = start("(setsid sleep 60 >/dev/null & echo $!); sleep 60", SWARM_RUN_ID=mark)
    child = int(process.stdout.readline())
    other = start("sleep 60", SWARM_RUN_ID=f"{mark}0")

    assert kill_tree(None, f"SWARM_RUN_ID={mark}", 2) == ()

    wait_until(lambda: start_ticks(child) is None and process.poll() is not None)
    assert other.poll() is None


def test_we_are_never_our_own_target():
    """A worker carries the mark of its life itself."""
    mark = make_run_id(new_run(), "w1", 1)
    code = (
        f"mark = 'SWARM_RUN_ID={mark}'; from swarm.workspace.processes import kill_tree, members;"
        "print([seen.pid for seen in members(None, mark)], kill_tree(None, mark, 1), 'alive')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"SWARM_RUN_ID": mark},
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout == "[] () alive\n"


def test_no_leader_and_no_mark_mean_nobody():
    """Kernel threads have session 0, which must not be taken for a group of ours."""
    assert members(None, None) == ()


def test_what_cannot_be_killed_is_named(start, monkeypatch):
    """The wait is bounded, and the caller hears who is left."""
    process = start("sleep 60")
    monkeypatch.setattr(processes, "_kill_all", lambda leader, known: None)

    assert kill_tree(leader_of(process), None, 0.1) == (process.pid,)


def test_the_portable_look_sees_the_same(start, monkeypatch):
    """Where there is no /proc, psutil answers the same questions."""
    mark = make_run_id(new_run(), "w1", 1)
    process = start("sleep 60 & sleep 61", SWARM_RUN_ID=mark)
    real_exists = os.path.exists
    wait_until(lambda: len(members(leader_of(process), None)) == 3)
    pids = [seen.pid for seen in members(leader_of(process), None)]
    monkeypatch.setattr(os.path, "exists", lambda path: path != "/proc/self/stat" and real_exists(path))
    monkeypatch.setattr(
        processes,
        "_look_at",
        lambda pid: next((seen for seen in processes._look_around_portably() if seen.pid == pid), None),
    )

    assert [seen.pid for seen in members(leader_of(process), None)] == pids
    assert processes._carries_portably(process.pid, f"SWARM_RUN_ID={mark}")
    assert not processes._carries_portably(process.pid, "SWARM_RUN_ID=other")
    assert not processes._carries_portably(2**22 + 1, "SWARM_RUN_ID=other")
    assert kill_tree(leader_of(process), None, 2) == ()
