"""A program in which workers race for tasks while they are killed, stopped, given up and continued.

    python -m tests.support.task_race ROOT PROCESSES SEED TROUBLES…

TROUBLES are `kill` (SIGKILL at any moment, then a new life) and `stop` (SIGSTOP; its claim is often freed
as if it were dead, then SIGCONT). It ends when every task is completed. What each worker was told is in
ROOT/answers/<name>, a line for each answer.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
import traceback
from pathlib import Path

from swarm.core.operations import Refusal
from swarm.core.task import TaskResult
from swarm.errors import LockTimeoutError, TaskError
from swarm.storage.clock import SystemClock
from swarm.storage.layout import Layout
from swarm.storage.tasks import TaskStore
from swarm.storage.team import Team
from tests.support.faults import ends_with_parent
from tests.support.stores import SETTINGS

_SETTINGS = SETTINGS.replace(lock_timeout_seconds=30.0, crashes_max=1_000_000)
_IDLE_SECONDS = 0.001
_LONGEST_WORK_SECONDS = 0.003
_RELEASED = 0.05
_LONGEST_CALM_SECONDS = 0.01
_GIVEN_UP = 0.7


def open_race(root: str, lock_timeout: float = 30.0) -> Team:
    settings = _SETTINGS.replace(lock_timeout_seconds=lock_timeout)
    return Team(Layout(root=root).team("demo"), settings, SystemClock())


class Worker:
    """One worker over all its lives, as its supervisor sees it."""

    def __init__(self, root: str, name: str, seed: int) -> None:
        self.root, self.name, self.seed = root, name, seed
        self.life = 0
        self.pid = 0
        self.stopped = False

    @property
    def run_id(self) -> str:
        return f"k3v9qd7m.{self.name}.{self.life}"

    def start(self) -> None:
        self.life += 1
        self.stopped = False
        self.pid = os.fork()
        if self.pid == 0:
            try:
                ends_with_parent()
                _work(self.root, self.name, self.run_id, random.Random(self.seed * 1000 + self.life))
            except BaseException:  # noqa: BLE001 - whatever it is, the parent's code must not go on here
                traceback.print_exc()
                os._exit(1)
            os._exit(0)


def _work(root: str, name: str, run_id: str, chance: random.Random) -> None:
    store = open_race(root).tasks(name)
    answers = os.open(f"{root}/answers/{name}", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    while True:
        claimed = store.claim(name, None, run_id)
        if isinstance(claimed, Refusal):
            if _is_over(store):
                return
            time.sleep(_IDLE_SECONDS)
            continue
        assert claimed.claim is not None
        token = claimed.claim.token
        os.write(answers, f"claimed {claimed.id} {token}\n".encode())
        time.sleep(chance.random() * _LONGEST_WORK_SECONDS)
        try:
            if chance.random() < _RELEASED:
                store.release(claimed.id, token, "somebody else may")
                told = "released"
            else:
                store.complete(claimed.id, token, TaskResult(summary=f"by {run_id}"))
                told = "completed"
        except TaskError as error:
            if error.code != "stale_token":
                raise
            told = "refused"
        os.write(answers, f"{told} {claimed.id} {token}\n".encode())


def _is_over(store: TaskStore) -> bool:
    counts = store.table().counts()
    return counts["pending"] + counts["in_progress"] == 0


class Supervisor:
    """Starts the workers, troubles them, and frees what the dead ones held."""

    def __init__(self, root: str, processes: int, seed: int, troubles: list[str]) -> None:
        self._workers = [Worker(root, f"racer-{n}", seed * 100 + n) for n in range(processes)]
        self._store = open_race(root).tasks("user")
        self._impatient = open_race(root, lock_timeout=0.1).tasks("user")
        self._chance = random.Random(seed)
        self._troubles = troubles
        self.counts = {"kills": 0, "stops": 0, "freed": 0, "freed_alive": 0}

    def run(self) -> None:
        try:
            for worker in self._workers:
                worker.start()
            while any(worker.pid for worker in self._workers):
                self._reap()
                self._trouble()
                time.sleep(self._chance.random() * _LONGEST_CALM_SECONDS)
                self._continue()
        finally:
            for worker in self._workers:
                if worker.pid:
                    os.kill(worker.pid, signal.SIGKILL)

    def _reap(self) -> None:
        for worker in self._workers:
            if not worker.pid:
                continue
            pid, status = os.waitpid(worker.pid, os.WNOHANG)
            if not pid:
                continue
            worker.pid = 0
            if os.WIFSIGNALED(status):
                self._free(worker, "freed")
                worker.start()
            else:
                assert os.waitstatus_to_exitcode(status) == 0, worker.name

    def _trouble(self) -> None:
        able = [worker for worker in self._workers if worker.pid and not worker.stopped]
        if not able or not self._troubles or _is_over(self._store):
            return
        worker = self._chance.choice(able)
        if self._chance.choice(self._troubles) == "kill":
            os.kill(worker.pid, signal.SIGKILL)
            os.waitid(os.P_PID, worker.pid, os.WEXITED | os.WNOWAIT)
            self.counts["kills"] += 1
            return
        os.kill(worker.pid, signal.SIGSTOP)
        worker.stopped = True
        self.counts["stops"] += 1
        if self._chance.random() < _GIVEN_UP:
            self._free(worker, "freed_alive")

    def _continue(self) -> None:
        for worker in self._workers:
            if worker.pid and worker.stopped:
                os.kill(worker.pid, signal.SIGCONT)
                worker.stopped = False

    def _free(self, worker: Worker, counted: str) -> None:
        """Free what this life held. A stopped worker inside the lock is let go first."""
        for task_id in self._store.table().in_progress_of(worker.name):
            try:
                self._impatient.free_dead(task_id, worker.run_id, "it was killed")
            except LockTimeoutError:
                self._continue()
                self._store.free_dead(task_id, worker.run_id, "it was killed")
            self.counts[counted] += 1


def answers(root: str) -> list[tuple[str, str, str]]:
    """Return what all workers were told; the last line of a killed one may be torn, or missing."""
    told = []
    for path in sorted(Path(root, "answers").iterdir()):
        for line in path.read_text().splitlines():
            what, task_id, token = line.split(" ")
            told.append((what, task_id, token))
    return told


def main(root: str, processes: str, seed: str, *troubles: str) -> None:
    os.makedirs(f"{root}/answers", exist_ok=True)
    supervisor = Supervisor(root, int(processes), int(seed), list(troubles))
    supervisor.run()
    sys.stdout.write(json.dumps(supervisor.counts) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
