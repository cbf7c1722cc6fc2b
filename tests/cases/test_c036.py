"""A forked child released a lock that its parent still held."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from swarm.core.identity import LEADER
from swarm.core.task import NewTask
from tests.support.oracle import History
from tests.support.racers import Racer
from tests.support.stores import check_tasks, make_team

TASKS = 120
HOST, OTHERS = "host", ("p1", "p2", "p3", "p4")
INSIDE_HOST = ("h1", "h2")

WORK = """
import asyncio, gc, os, threading, time
from swarm.storage import syscalls
from swarm.storage.lock import FileLock

log = os.open(sys.argv[1] + "/held", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
held, lock_now, unlock = {}, syscalls.lock_now, syscalls.unlock

def note(what, path):
    os.write(log, f"{what} {os.getpid()} {os.path.basename(path)}\\n".encode())

def logged_lock(fd, path):
    got = lock_now(fd, path)
    if got:
        held[fd] = path
        note("in", path)
    return got

def logged_unlock(fd):
    if fd in held:
        note("out", held.pop(fd))
    unlock(fd)

syscalls.lock_now, syscalls.unlock = logged_lock, logged_unlock

def is_over(store):
    counts = store.table().counts()
    return counts["pending"] + counts["in_progress"] == 0

def step(store, agent, done):
    task = store.claim(agent, None, f"k3v9qd7m.{agent}.1")
    if isinstance(task, Task):
        send(team, agent, LEADER, f"{agent} {done}")
        store.complete(task.id, task.claim.token, TaskResult(summary=agent))
        return done + 1
    return done
"""
PLAIN = """
store, done = team.tasks(name), 0
while not is_over(store):
    done = step(store, name, done)
say(done)
"""
WITH_CHILDREN = """
from swarm.workspace.commands import run_shell

async def worker(agent):
    store, done = team.tasks(agent), 0
    while not is_over(store):
        done = step(store, agent, done)
        await run_shell("(sleep 0.02 &) ; echo done", "/", dict(os.environ), 10, 1000)
    return done

def fork_all_the_time(over, counts):
    while not over.is_set():
        while not held and not over.is_set():
            time.sleep(0)  # a fork matters while a lock is held
        pid = os.fork()
        if pid == 0:
            for lock in gc.get_objects():
                if isinstance(lock, FileLock):
                    lock.release()
            os._exit(0)
        os.waitpid(pid, 0)
        counts["forks"] += 1

async def main():
    over, counts = threading.Event(), {"forks": 0}
    forker = threading.Thread(target=fork_all_the_time, args=(over, counts))
    forker.start()
    try:
        done = await asyncio.gather(worker("h1"), worker("h2"))
    finally:
        over.set()
        forker.join()
    return [*done, counts["forks"]]

say(asyncio.run(main()))
"""


def test_no_lock_has_two_holders_while_workers_fork_children(tmp_path: Path) -> None:
    """Also the claims and the mail are as if nobody had forked."""
    team = make_team(tmp_path)
    team.tasks("user").create(*(NewTask(subject=f"task {n}") for n in range(TASKS)))
    racers = {name: Racer(tmp_path, name, WORK + PLAIN) for name in OTHERS}
    racers[HOST] = Racer(tmp_path, HOST, WORK + WITH_CHILDREN)
    try:
        for racer in racers.values():
            racer.wait_ready()
        for racer in racers.values():
            racer.go()
        done = {name: racers[name].heard() for name in OTHERS}
        *in_host, forks = racers[HOST].heard()
    finally:
        for racer in racers.values():
            racer.end()
    done.update(zip(INSIDE_HOST, in_host, strict=True))

    assert forks > 0
    assert sum(done.values()) == TASKS
    check_tasks(team)
    assert History(team).statuses() == {"completed": TASKS}
    heard = [message.text for message in team.inbox(LEADER).peek()]
    assert len(heard) == TASKS
    for name, count in done.items():
        assert [text for text in heard if text.split()[0] == name] == [f"{name} {n}" for n in range(count)]
    check_holders(tmp_path / "held")


def check_holders(log: Path) -> None:
    """Check that who entered left again before the next one entered, lock by lock."""
    inside: dict[str, str | None] = defaultdict(lambda: None)
    lines = log.read_text().splitlines()
    assert len(lines) > TASKS
    for line in lines:
        what, pid, lock = line.split(" ")
        assert inside[lock] == (None if what == "in" else pid), line
        inside[lock] = pid if what == "in" else None
