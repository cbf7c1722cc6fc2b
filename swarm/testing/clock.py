"""A clock that stands still until a test moves it."""

from __future__ import annotations


class FakeClock:
    """Time that only `advance` moves; both readings move together."""

    def __init__(self, start: float = 1_796_042_000.0) -> None:
        self._start = start
        self._elapsed = 0.0

    def now(self) -> float:
        return self._start + self._elapsed

    def monotonic(self) -> float:
        return self._elapsed

    def advance(self, seconds: float) -> None:
        """Let this much time pass; never backwards."""
        if seconds < 0:
            raise ValueError("time does not go backwards")
        self._elapsed += seconds
