"""The processes that an agent's tools have running, kept in its record on disk.

Whoever finds the agent dead ends them by this list, so an entry is written before its command starts.
"""

from __future__ import annotations

from swarm.core.agent import ToolProcess
from swarm.core.ports import Clock
from swarm.core.times import format_time
from swarm.storage.agents import AgentStore


class ProcessTracker:
    """Tools in progress of one agent. Entries of other calls are kept as they are."""

    def __init__(self, agents: AgentStore, name: str, clock: Clock) -> None:
        self._agents = agents
        self._name = name
        self._clock = clock
        self._running: dict[str, ToolProcess] = {}

    def started(self, tool_use_id: str, tool: str, pgid: int, start_ticks: int) -> None:
        """Write the process down. Raises when that fails: then the command must not run."""
        since = format_time(self._clock.now())
        self._running[tool_use_id] = ToolProcess(
            tool_use_id=tool_use_id, name=tool, pgid=pgid, start_ticks=start_ticks, since=since
        )
        self._save()

    def ended(self, tool_use_id: str) -> None:
        if self._running.pop(tool_use_id, None) is not None:
            self._save()

    def _save(self) -> None:
        self._agents.update(self._name, tools=tuple(self._running.values()))
