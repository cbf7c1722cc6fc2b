"""Teammates as asyncio tasks of this process.

The body of a teammate is handed in, so that this package never imports the worker. Each teammate runs
in a context of its own: identity travels in context variables, not in globals or the environment.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Awaitable, Callable, Sequence

from swarm.backends.ending import stop_all
from swarm.core.agent import AgentRecord
from swarm.core.spawn import TeammateSpec
from swarm.errors import BackendError, SwarmError

TeammateBody = Callable[[TeammateSpec, asyncio.Event, asyncio.Event], Awaitable[str]]
"""`body(spec, stop, hint)`: runs until `stop` is set; `hint` says that something may have changed."""


class InProcessBackend:
    """At most `limit` teammates in one event loop. Not shared between threads."""

    name = "in-process"

    def __init__(self, body: TeammateBody, *, limit: int) -> None:
        self._body = body
        self._limit = limit
        self._running: dict[str, _Running] = {}

    async def spawn(self, spec: TeammateSpec) -> None:
        """Start a teammate; it reports ready in its agent record. The name must not be running already."""
        if self.is_alive(spec.name):
            raise BackendError(
                f"{spec.name} is running already", code="agent_alive", details={"agent": spec.name}
            )
        if len(self.list_alive()) >= self._limit:
            raise BackendError(
                f"{spec.name} was not started: at most {self._limit} teammates fit into one process",
                code="bad_value",
                details={"limit": self._limit},
            )
        stop, hint = asyncio.Event(), asyncio.Event()
        context = contextvars.copy_context()
        task = asyncio.get_running_loop().create_task(
            self._run(spec, stop, hint), name=f"teammate {spec.name}", context=context
        )
        task.add_done_callback(_seen)
        self._running[spec.name] = _Running(task, stop, hint)

    async def _run(self, spec: TeammateSpec, stop: asyncio.Event, hint: asyncio.Event) -> str:
        return await self._body(spec, stop, hint)

    def adopt(self, record: AgentRecord) -> bool:
        """Return False: such a teammate ends with the process that it is a part of."""
        return False

    def is_alive(self, name: str) -> bool:
        """Whether the teammate's task is still running."""
        running = self._running.get(name)
        return running is not None and not running.task.done()

    def list_alive(self) -> tuple[str, ...]:
        """Names of the running teammates, in the order of their start."""
        return tuple(name for name in self._running if self.is_alive(name))

    def failure(self, name: str) -> str | None:
        """Return the exception that ended this teammate, in words."""
        running = self._running.get(name)
        if running is None or not running.task.done() or running.task.cancelled():
            return None
        error = running.task.exception()
        return None if error is None else str(error) if isinstance(error, SwarmError) else repr(error)

    def hint(self) -> None:
        """Tell all teammates that the team's files may have changed; they look by themselves, too."""
        for running in self._running.values():
            running.hint.set()

    def ask_to_stop(self, name: str) -> None:
        """Ask a teammate to stop: it ends its tool, frees its task and goes. Repeats do nothing."""
        if name in self._running:
            self._running[name].stop.set()
            self._running[name].hint.set()

    async def stop(self, *, timeout: float) -> tuple[str, ...]:
        """Ask all to stop; cancel and return those that need longer than `timeout` seconds."""
        return await stop_all(self, timeout)

    async def kill(self, *, timeout: float, names: Sequence[str] | None = None) -> None:
        """Cancel these, or whatever still runs, and wait, at most `timeout` seconds, until it is gone."""
        tasks = [self._running[name].task for name in self.list_alive() if names is None or name in names]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=timeout)

    def show(self, name: str) -> tuple[str, ...] | None:
        """Return None: the leader's own view shows its teammates."""
        return None

    async def cleanup(self) -> None:
        """Do nothing: a task leaves nothing behind."""


def _seen(task: asyncio.Task[str]) -> None:
    """Look at how it ended: `failure` tells, if anybody asks, and asyncio needs not print it."""
    if not task.cancelled():
        task.exception()


class _Running:
    def __init__(self, task: asyncio.Task[str], stop: asyncio.Event, hint: asyncio.Event) -> None:
        self.task = task
        self.stop = stop
        self.hint = hint
