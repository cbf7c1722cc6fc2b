"""What the rim passes in: the pure parts read no clock of their own."""

from __future__ import annotations

from typing import Protocol


class Clock(Protocol):
    """Both clocks of a machine; tests bring their own."""

    def now(self) -> float:
        """Seconds since 1970, for what is written down."""
        ...

    def monotonic(self) -> float:
        """Seconds from some start, never going back, for waiting."""
        ...
