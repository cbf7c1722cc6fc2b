"""The processes that an agent's tools have running, kept in its record on disk.

Whoever finds the agent dead ends them by this list, so an entry is written before its command starts.
"""

from __future__ import annotations

from swarm.core.agent import ToolProcess
from swarm.core.ports import Clock
from swarm.core.times import format_time
from swarm.errors import StateError
from swarm.storage.agents import AgentStore


class ProcessTracker:
    """Tools in progress of one life of an agent."""

    def __init__(self, agents: AgentStore, run_id: str, clock: Clock) -> None:
        self._agents = agents
        self._run_id = run_id
        self._clock = clock
        self._running: dict[str, ToolProcess] = {}

    def started(self, tool_use_id: str, tool: str, pgid: int, start_ticks: int) -> None:
        """Write the process down. Raises when that fails: then the command must not run.

        So it is for a life that was given up: whoever did that has ended its commands, and looks no more.
        """
        since = format_time(self._clock.now())
        self._running[tool_use_id] = ToolProcess(
            tool_use_id=tool_use_id, name=tool, pgid=pgid, start_ticks=start_ticks, since=since
        )
        if not self._save():
            raise StateError(
                "this life of the agent has been given up; it may start no command any more",
                code="stale_token",
                details={"run_id": self._run_id},
            )

    def ended(self, tool_use_id: str) -> None:
        if self._running.pop(tool_use_id, None) is not None:
            self._save()

    def _save(self) -> bool:
        return self._agents.update_life(self._run_id, tools=tuple(self._running.values())) is not None
