"""Teammates as plain processes: a session of their own, output to `logs/`, nothing on stdin."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Sequence

from swarm.backends.ending import stop_all, until_gone
from swarm.backends.last_words import how_it_ended, last_words
from swarm.backends.start import Start, prepare_start
from swarm.core.agent import AgentRecord
from swarm.core.spawn import TeammateSpec
from swarm.errors import BackendError
from swarm.storage import syscalls
from swarm.storage.processes import liveness
from swarm.storage.spawn_file import remove_spawn_file
from swarm.storage.team import Team
from swarm.workspace.processes import Leader, ask_to_end, is_running, kill_tree, start_ticks

_UNDO_SECONDS = 5.0


class ProcessBackend:
    """Each teammate is known by pid and start time; that of a child of ours stays until we have reaped it."""

    name = "process"

    def __init__(self, team: Team) -> None:
        self._team = team
        self._known: dict[str, _Known] = {}

    async def spawn(self, spec: TeammateSpec) -> None:
        """Start a process; see `Backend.spawn`."""
        if self.is_alive(spec.name):
            raise BackendError(
                f"{spec.name} is running already", code="agent_alive", details={"agent": spec.name}
            )
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
            await self.kill(timeout=_UNDO_SECONDS, names=[spec.name])
            raise

    def adopt(self, record: AgentRecord) -> bool:
        """Take over a process that another leader has started."""
        if record.backend != self.name or record.state == "stopped" or liveness(record) != "alive":
            return False
        if record.pid is None or record.start_ticks is None:
            return False
        log = self._team.layout.log(record.name)
        self._known[record.name] = _Known(record.run_id, Leader(record.pid, record.start_ticks), None, log)
        return True

    def is_alive(self, name: str) -> bool:
        """Whether the process runs; this reaps it when it does not any more."""
        known = self._known.get(name)
        return known is not None and known.is_alive()

    def list_alive(self) -> tuple[str, ...]:
        """Names of the teammates whose process runs, in the order of their start."""
        return tuple(name for name in self._known if self.is_alive(name))

    def failure(self, name: str) -> str | None:
        """Return how the process ended and what it wrote last."""
        known = self._known.get(name)
        return None if known is None or known.is_alive() else known.failure()

    def hint(self) -> None:
        """Do nothing: each process watches the files itself."""

    def ask_to_stop(self, name: str) -> None:
        """Send TERM to the recorded process, which takes it as the order to stop."""
        if self.is_alive(name):
            ask_to_end(self._known[name].leader)

    async def stop(self, *, timeout: float) -> tuple[str, ...]:
        """Ask all to stop; see `Backend.stop`."""
        return await stop_all(self, timeout)

    async def kill(self, *, timeout: float, names: Sequence[str] | None = None) -> None:
        """Kill these processes, or all, with what they started, also in sessions of its own."""
        meant = [name for name in (self._known if names is None else names) if name in self._known]
        ending = (self._known[name].kill_tree(timeout) for name in meant if self.is_alive(name))
        await asyncio.gather(*ending)
        await until_gone(self, meant, timeout)  # reaps them
        for name in meant if names is None else names:
            remove_spawn_file(self._team.layout, name)

    def show(self, name: str) -> tuple[str, ...] | None:
        """Return None: a plain process shows itself only in its log."""
        return None

    async def cleanup(self) -> None:
        """Remove the spawn files of processes that ended before they read them."""
        for name in [name for name in self._known if not self.is_alive(name)]:
            remove_spawn_file(self._team.layout, name)


class _Known:
    """One life. `process` is there when it is our child; its output in the log begins at `said_from`."""

    def __init__(
        self,
        run_id: str,
        leader: Leader,
        process: subprocess.Popen[bytes] | None,
        log: str,
        said_from: int = 0,
    ) -> None:
        self.run_id = run_id
        self.leader = leader
        self._process = process
        self._log = log
        self._said_from = said_from

    def is_alive(self) -> bool:
        if self._process is not None:
            return self._process.poll() is None
        return is_running(*self.leader)

    def failure(self) -> str | None:
        code = None if self._process is None else self._process.returncode
        if code == 0:
            return None
        said = last_words(self._log, self._said_from)
        return how_it_ended(code) + (f": {said}" if said else "")

    async def kill_tree(self, timeout: float) -> None:
        await asyncio.to_thread(kill_tree, self.leader, f"SWARM_RUN_ID={self.run_id}", timeout)


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
