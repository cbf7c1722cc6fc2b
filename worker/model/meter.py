"""What keeps account of the cost of requests, as a model needs it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol


class Meter(Protocol):
    """Keeps account of what requests cost. An `open` without a `settle` stays reserved."""

    async def open(self, model: str, input_tokens: int, max_tokens: int) -> None:
        """Reserve what this request costs at most; a ModelError when there is not that much left."""
        ...

    def settle(self, model: str, usage: Mapping[str, int], unsaid_tokens: int = 0) -> None:
        """Book what it came to, nothing for one that was not served; it may have been longer than it said."""
        ...


class Unmetered:
    """Keeps no account."""

    async def open(self, model: str, input_tokens: int, max_tokens: int) -> None:
        """Let the request pass."""

    def settle(self, model: str, usage: Mapping[str, int], unsaid_tokens: int = 0) -> None:
        """Book nothing."""
