"""What the leader and the command line need of a way to run teammates, whichever it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from swarm.core.agent import AgentRecord
from swarm.core.spawn import TeammateSpec


class Endable(Protocol):
    """What ending teammates in order takes."""

    def is_alive(self, name: str) -> bool:
        """Whether the teammate's process, pane or task is still there; costs next to nothing."""
        ...

    def list_alive(self) -> tuple[str, ...]:
        """Names of the teammates that are alive, in the order of their start."""
        ...

    def ask_to_stop(self, name: str) -> None:
        """Ask a teammate to stop: it ends its tool, frees its task and goes. Repeats do nothing."""
        ...

    async def kill(self, *, timeout: float, names: Sequence[str] | None = None) -> None:
        """End these teammates, or all, with what they started; waits until they are gone, at most so long."""
        ...


class Backend(Endable, Protocol):
    """Starts, looks at and ends teammates; a teammate is known by its name, one life at a time.

    Works on what it has started or adopted, and on nothing else. Not shared between threads.
    """

    @property
    def name(self) -> str:
        """The word for it on the command line and in records."""
        ...

    async def spawn(self, spec: TeammateSpec) -> None:
        """Start a teammate, whose `starting` record the caller has made, and note process and handle in it.

        Afterwards it exists; that it is ready its record tells, for which the caller waits. Otherwise a
        SwarmError, and nothing is left. A name that is running already is refused as `agent_alive`.
        """
        ...

    def adopt(self, record: AgentRecord) -> bool:
        """Take over a teammate that another leader has started; False when it is not a living one of ours."""
        ...

    def failure(self, name: str) -> str | None:
        """Why it has ended, for a person; None while it lives, after an orderly end, or when unknown."""
        ...

    def hint(self) -> None:
        """Tell all teammates that the team's files may have changed; those that watch them need no hint."""
        ...

    async def stop(self, *, timeout: float) -> tuple[str, ...]:
        """Ask all to stop; kill and return those that need longer than `timeout` seconds."""
        ...

    def show(self, name: str) -> tuple[str, ...] | None:
        """Return the command that brings a teammate before a person; None where there is only its log."""
        ...

    async def cleanup(self) -> None:
        """Remove what is left of teammates that are gone: files, panes, servers. May be called again."""
        ...
