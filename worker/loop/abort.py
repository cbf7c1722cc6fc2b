"""Waiting for work that a stop signal may cut short."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class Aborted(Exception):  # noqa: N818 - an outcome, not an error
    """The stop signal came first; the work was cancelled and has ended."""


async def unless_aborted(abort: asyncio.Event, work: Coroutine[Any, Any, T]) -> T:
    """Return what `work` returns, or raise `Aborted` if `abort` is set before it is done.

    Either way, and also when the caller itself is cancelled, `work` has ended when this returns.
    """
    working = asyncio.ensure_future(work)
    aborting = asyncio.ensure_future(abort.wait())
    try:
        await asyncio.wait({working, aborting}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise Aborted
        return working.result()
    finally:
        working.cancel()
        aborting.cancel()
        await asyncio.gather(working, aborting, return_exceptions=True)
