"""Waiting for a file lock without holding up the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Protocol

_FIRST_WAIT_SECONDS = 0.01
_LONGEST_WAIT_SECONDS = 0.25


class TryLock(Protocol):
    """A lock that can be tried for; `try_acquire` returns at once."""

    def try_acquire(self) -> bool:
        """Return whether the lock is ours now."""
        ...

    def release(self) -> None:
        """Give the lock back."""
        ...


@asynccontextmanager
async def held(lock: TryLock) -> AsyncGenerator[None, None]:
    """Wait for the lock, however long its holder takes, and hold it for the block; cancelling ends the wait."""
    wait = _FIRST_WAIT_SECONDS
    while not lock.try_acquire():
        await asyncio.sleep(wait)
        wait = min(wait * 2, _LONGEST_WAIT_SECONDS)
    try:
        yield
    finally:
        lock.release()
