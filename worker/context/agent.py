"""Who is acting. Several teammates share one process, so identity is a context variable, never a global."""

from __future__ import annotations

from contextvars import ContextVar

from swarm.values import Value


class AgentContext(Value):
    """One life of one agent."""

    name: str
    team: str
    role: str | None
    run_id: str
    color: str | None
    model: str
    permission_mode: str

    @property
    def agent_id(self) -> str:
        return f"{self.name}@{self.team}"


current_agent: ContextVar[AgentContext] = ContextVar("swarm_current_agent")
"""Set for the whole of a teammate's asyncio task, and so for everything that it starts."""
