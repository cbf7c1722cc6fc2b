"""After a crash members stayed active for good, and later sessions gave work to ghosts.

Here three teammates inside the leader's process, and two in panes that were started beside the run.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from swarm.storage.processes import start_ticks
from swarm.testing.wait import wait_until
from tests.support.crew import KEEPER, Crew, crew, long_task
from tests.support.private_tmux import needs_tmux

pytestmark = [*needs_tmux, pytest.mark.timeout(90)]

INSIDE, BESIDE = ("w1", "w2", "w3"), ("x1", "x2")
EVERYBODY = (*INSIDE, *BESIDE)
LIMIT_SECONDS = 10.0
SLEEPS_ONCE = '[ -e "$SWARM_TASK.pid" ] && exit 0; echo $$ > "$SWARM_TASK.pid"; sleep 600'
TASKS = [long_task(f"job-{number}", SLEEPS_ONCE) for number in range(len(EVERYBODY))]


@pytest.fixture
def crashed(isolated_home: Path) -> Iterator[Crew]:
    """A team whose leader, and all teammates with it, were killed in the middle of their work."""
    with crew("in-process", isolated_home, *INSIDE, tasks=TASKS) as team:
        team.bring_up()
        team.spawn("tmux", *BESIDE)
        team.until_there(*(f"{team.ids[task['key']]}.pid" for task in TASKS))
        team.until_state("working", *EVERYBODY)
        team.kill_now(*EVERYBODY)
        yield team


def jobs(team: Crew) -> list[str]:
    return [team.ids[task["key"]] for task in TASKS]


def commands(team: Crew) -> list[int]:
    return [team.number_in(f"{job}.pid") for job in jobs(team)]


def died(team: Crew) -> list[str]:
    return sorted(str(event.agent) for event in team.events("agent_died"))


def all_are_dead(team: Crew) -> bool:
    return team.states() == dict.fromkeys(EVERYBODY, "dead")


def test_all_are_shown_dead_and_somebody_else_gets_their_tasks(crashed: Crew) -> None:
    """Their commands are ended before that: they might still write."""
    wait_until(lambda: all_are_dead(crashed), timeout=LIMIT_SECONDS, what="all are shown dead")
    running = commands(crashed)
    assert all(start_ticks(pid) for pid in running)

    claimed = crashed.swarm("task", "claim", "--as", "other", "--json").json()

    assert (claimed["id"], claimed["owner"]) == (jobs(crashed)[0], "other")
    tasks = {task.id: task for task in crashed.tasks()}
    assert [tasks[job].owner for job in jobs(crashed)] == ["other", None, None, None, None]
    assert [tasks[job].status for job in jobs(crashed)[1:]] == ["pending"] * 4
    assert not any(start_ticks(pid) for pid in running)
    assert set(crashed.states().values()) == {"stopped"}
    assert died(crashed) == sorted((*EVERYBODY, KEEPER))


def test_a_new_leader_gives_no_task_to_the_dead(crashed: Crew) -> None:
    """Also when their very pids mean other processes now."""
    pids = {crashed.pid(name) for name in EVERYBODY}
    assert len(pids) == len(BESIDE) + 1
    with strangers(crashed, pids) as others:
        assert all_are_dead(crashed)
        before = {name: crashed.record(name).run_id for name in EVERYBODY}
        crashed.lead()
        tasks = jobs(crashed)
        wait_until(lambda: all(crashed.team.tasks("user").get_task(one).finished for one in tasks), 20)

        done = [crashed.team.tasks("user").get_task(one) for one in tasks]
        assert [(task.status, task.crashes) for task in done] == [("completed", 1)] * len(TASKS)
        assert {task.owner for task in done} <= set(INSIDE)
        assert not {task.claim.run_id for task in done if task.claim} & set(before.values())
        assert {name: crashed.states()[name] for name in BESIDE} == dict.fromkeys(BESIDE, "stopped")
        assert died(crashed) == sorted((*EVERYBODY, KEEPER))
        assert all(other.is_alive() for other in others)


class Stranger:
    """A child of ours that sleeps, with the pid that was asked for if the system lets us have it."""

    def __init__(self, pid: int) -> None:
        try:
            self.pid = _start_as(pid)
        except OSError:  # only the privileged may choose
            self.pid = os.posix_spawnp("sleep", ["sleep", "60"], os.environ)

    def is_alive(self) -> bool:
        return os.waitpid(self.pid, os.WNOHANG) == (0, 0)

    def end(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


@contextmanager
def strangers(team: Crew, pids: set[int]) -> Iterator[list[Stranger]]:
    """Let the pids in the records mean processes that have nothing to do with the team."""
    others = {pid: Stranger(pid) for pid in sorted(pids)}
    try:
        for name in EVERYBODY:
            path = Path(team.team.layout.agent(name))
            record = json.loads(path.read_text())
            path.write_text(json.dumps(record | {"pid": others[record["pid"]].pid}))
        yield list(others.values())
    finally:
        for other in others.values():
            other.end()


class _CloneArguments(ctypes.Structure):
    _fields_ = tuple(
        (name, ctypes.c_uint64)
        for name in (
            "flags pidfd child_tid parent_tid exit_signal stack stack_size tls set_tid set_tid_size cgroup"
        ).split()
    )


_CLONE3 = 435


def _start_as(pid: int) -> int:
    """Start `sleep` under this pid (Linux 5.5, privileged)."""
    libc = ctypes.CDLL(None, use_errno=True)
    wanted = (ctypes.c_int * 1)(pid)
    told = _CloneArguments(exit_signal=signal.SIGCHLD, set_tid=ctypes.addressof(wanted), set_tid_size=1)
    started = libc.syscall(_CLONE3, ctypes.byref(told), ctypes.sizeof(told))
    if started == 0:
        os.execv("/bin/sleep", ["sleep", "60"])
    if started < 0:
        raise OSError(ctypes.get_errno(), "clone3")
    return int(started)
