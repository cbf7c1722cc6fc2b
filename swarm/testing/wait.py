"""Waiting for a condition instead of sleeping."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

T = TypeVar("T")
_STEP_SECONDS = 0.005


def wait_until(condition: Callable[[], T], timeout: float = 5.0, *, what: str = "the condition") -> T:
    """Return the first true result of `condition`; TimeoutError, naming `what`, if none comes in time."""
    deadline = time.monotonic() + timeout
    while True:
        result = condition()
        if result:
            return result
        if time.monotonic() >= deadline:
            raise TimeoutError(f"{what} did not hold within {timeout:g}s; last seen: {result!r}")
        time.sleep(_STEP_SECONDS)


async def eventually(
    condition: Callable[[], Any], timeout: float = 5.0, *, what: str = "the condition"
) -> Any:
    """Do as `wait_until` does without holding up the event loop; `condition` may be a coroutine function."""
    import asyncio

    deadline = time.monotonic() + timeout
    while True:
        outcome = condition()
        result = await outcome if isinstance(outcome, Awaitable) else outcome
        if result:
            return result
        if time.monotonic() >= deadline:
            raise TimeoutError(f"{what} did not hold within {timeout:g}s; last seen: {result!r}")
        await asyncio.sleep(_STEP_SECONDS)
