"""Which tool call runs in this asyncio task."""

from __future__ import annotations

from contextvars import ContextVar

current_call: ContextVar[str] = ContextVar("swarm_current_call")
"""Id of that call."""
