"""Teammates as plain processes: a session of their own, output to `logs/`, nothing on stdin."""

from __future__ import annotations

import os
import subprocess

from swarm.backends.last_words import how_it_ended, last_words
from swarm.backends.own_process import UNDO_SECONDS, Life, OwnProcessBackend
from swarm.backends.start import Start, prepare_start
from swarm.core.agent import AgentRecord
from swarm.core.spawn import TeammateSpec
from swarm.errors import BackendError
from swarm.storage import syscalls
from swarm.storage.team import Team
from swarm.workspace.processes import Leader, start_ticks


class ProcessBackend(OwnProcessBackend["_Known"]):
    """A child of ours keeps pid and start time until we have reaped it, which each look does."""

    def __init__(self, team: Team) -> None:
        super().__init__("process", team)

    async def spawn(self, spec: TeammateSpec) -> None:
        """Start a process; see `Backend.spawn`."""
        self._refuse_running(spec.name)
        start = prepare_start(self._team.layout, spec)
        try:
            known = self._known[spec.name] = _start(spec, start)
            self._team.agents.update_life(
                spec.run_id,
                pid=known.leader.pid,
                start_ticks=known.leader.start_ticks,
                handle={"log": start.log},
            )
        except BaseException:
            await self.kill(timeout=UNDO_SECONDS, names=[spec.name])
            raise

    def adopt(self, record: AgentRecord) -> bool:
        """Take over a process that another leader has started."""
        leader = self._process_of(record)
        if leader is None:
            return False
        self._known[record.name] = _Known(record.run_id, leader, None, self._team.layout.log(record.name))
        return True

    def failure(self, name: str) -> str | None:
        """Return how the process ended and what it wrote last."""
        known = self._known.get(name)
        return None if known is None or known.is_alive() else known.failure()

    def show(self, name: str) -> tuple[str, ...] | None:
        """Return None: a plain process shows itself only in its log."""
        return None


class _Known(Life):
    """`process` is there when it is our child; its output in the log begins at `said_from`."""

    def __init__(
        self,
        run_id: str,
        leader: Leader,
        process: subprocess.Popen[bytes] | None,
        log: str,
        said_from: int = 0,
    ) -> None:
        super().__init__(run_id, leader)
        self._process = process
        self._log = log
        self._said_from = said_from

    def is_alive(self) -> bool:
        if self._process is not None:
            return self._process.poll() is None
        return super().is_alive()

    def failure(self) -> str | None:
        code = None if self._process is None else self._process.returncode
        if code == 0:
            return None
        said = last_words(self._log, self._said_from)
        return how_it_ended(code) + (f": {said}" if said else "")


def _start(spec: TeammateSpec, start: Start) -> _Known:
    log = syscalls.create_file(start.log, os.O_WRONLY | os.O_APPEND)
    try:
        said_from = syscalls.stat_file(log, start.log).st_size
        process = subprocess.Popen(
            start.argv,
            cwd=spec.workspace,
            env=start.environ,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    except OSError as error:
        what = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        raise BackendError(
            f"{spec.name} was not started: {what}",
            code="io_error",
            details={"path": str(error.filename or start.argv[0]), "errno": error.errno or 0},
        ) from error
    finally:
        syscalls.close(log)
    # A child that has ended already is a zombie without a start time: no other process has that either.
    leader = Leader(process.pid, start_ticks(process.pid) or 0)
    return _Known(spec.run_id, leader, process, start.log, said_from)
