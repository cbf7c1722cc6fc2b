"""Waiting for the lock on a workspace without holding up the other teammates of this process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Protocol

_POLL_SECONDS = 0.05


class Lock(Protocol):
    """What can be held by one process or teammate at a time."""

    def try_acquire(self) -> bool:
        """Take the lock if it is free; never waits."""

    def release(self) -> None: ...


@asynccontextmanager
async def held(lock: Lock, *, poll: float = _POLL_SECONDS) -> AsyncIterator[None]:
    """Hold the lock inside the block. Waits as long as it takes, in no order; cancelling ends the wait."""
    while not lock.try_acquire():
        await asyncio.sleep(poll)
    try:
        yield
    finally:
        lock.release()
