"""The real clock."""

from __future__ import annotations

import time


class SystemClock:
    """Time as the machine tells it."""

    def now(self) -> float:
        """Seconds since the epoch, for what is written down."""
        return time.time()

    def monotonic(self) -> float:
        """Seconds for waiting and measuring; jumps of the wall clock do not touch it."""
        return time.monotonic()
