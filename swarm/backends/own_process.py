"""What backends have in common that start a process for each teammate, whatever shows it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Generic, TypeVar

from swarm.backends.ending import stop_all, until_gone
from swarm.core.agent import AgentRecord
from swarm.errors import BackendError
from swarm.storage.processes import liveness
from swarm.storage.spawn_file import remove_spawn_file
from swarm.storage.team import Team
from swarm.workspace.leftovers import end_life
from swarm.workspace.processes import Leader, ask_to_end, is_running

UNDO_SECONDS = 5.0


class Life:
    """One life of a teammate: its process, and the mark that all bears which that starts."""

    def __init__(self, run_id: str, leader: Leader) -> None:
        self.run_id = run_id
        self.leader = leader

    def is_alive(self) -> bool:
        """Whether its process runs."""
        return is_running(*self.leader)

    async def kill_tree(self, timeout: float) -> None:
        """Kill the process and all that it has started, also in sessions of its own."""
        await asyncio.to_thread(end_life, self.leader, self.run_id, wait=timeout)


AnyLife = TypeVar("AnyLife", bound=Life)


class OwnProcessBackend(Generic[AnyLife]):
    """Knows teammates by pid and start time; see `Backend` for what each method promises."""

    def __init__(self, name: str, team: Team) -> None:
        self.name = name
        self._team = team
        self._known: dict[str, AnyLife] = {}

    def _refuse_running(self, name: str) -> None:
        if self.is_alive(name):
            raise BackendError(f"{name} is running already", code="agent_alive", details={"agent": name})

    def _process_of(self, record: AgentRecord) -> Leader | None:
        """Return the process of a teammate that this backend could take over."""
        if record.backend != self.name or record.state == "stopped" or liveness(record) != "alive":
            return None
        if record.pid is None or record.start_ticks is None:
            return None
        return Leader(record.pid, record.start_ticks)

    def is_alive(self, name: str) -> bool:
        """Whether the teammate's process runs."""
        known = self._known.get(name)
        return known is not None and known.is_alive()

    def list_alive(self) -> tuple[str, ...]:
        """Names of the teammates whose process runs, in the order of their start."""
        return tuple(name for name in self._known if self.is_alive(name))

    def hint(self) -> None:
        """Do nothing: each process watches the files itself."""

    def ask_to_stop(self, name: str) -> None:
        """Send TERM to the recorded process, which takes it as the order to stop."""
        if self.is_alive(name):
            ask_to_end(self._known[name].leader)

    async def stop(self, *, timeout: float) -> tuple[str, ...]:
        """Ask all to stop; kill and return those that are late."""
        return await stop_all(self, timeout)

    async def kill(self, *, timeout: float, names: Sequence[str] | None = None) -> None:
        """Kill these processes, or all, with what they started, and remove what they leave."""
        meant = [name for name in (self._known if names is None else names) if name in self._known]
        await asyncio.gather(*(self._known[name].kill_tree(timeout) for name in meant if self.is_alive(name)))
        await until_gone(self, meant, timeout)
        await self._clear(meant if names is None else names)

    async def cleanup(self) -> None:
        """Remove what is left of teammates that have ended."""
        await self._clear([name for name in self._known if not self.is_alive(name)])

    async def _clear(self, names: Sequence[str]) -> None:
        """Remove the spawn files of those that ended before they read them."""
        for name in names:
            if not self.is_alive(name):
                remove_spawn_file(self._team.layout, name)
