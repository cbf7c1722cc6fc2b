"""Ending teammates in order, the same way in every backend: ask, wait, and kill who is late."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

from swarm.backends.port import Endable

_LOOK_SECONDS = 0.01


async def stop_all(backend: Endable, timeout: float) -> tuple[str, ...]:
    """Ask all that are alive to stop; kill and return those that need longer than `timeout` seconds."""
    names = backend.list_alive()
    for name in names:
        backend.ask_to_stop(name)
    late = await until_gone(backend, names, timeout)
    if late:
        await backend.kill(timeout=timeout, names=late)
    return late


async def until_gone(backend: Endable, names: Sequence[str], timeout: float) -> tuple[str, ...]:
    """Wait until these have ended and return those that have not after `timeout` seconds."""
    deadline = time.monotonic() + timeout
    while True:
        alive = tuple(name for name in names if backend.is_alive(name))
        if not alive or time.monotonic() >= deadline:
            return alive
        await asyncio.sleep(_LOOK_SECONDS)
