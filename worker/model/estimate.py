"""How many tokens a request comes to at most, before it is sent: what is set aside for it must be enough."""

from __future__ import annotations

from collections.abc import Mapping

from worker.model.port import ModelRequest
from worker.model.request import sent_bytes

_MARGIN_TOKENS = 2_000
"""For what a service adds by itself to a request."""


class InputEstimate:
    """Learns from each answer what the conversation came to by then; all that is new counts by its bytes."""

    def __init__(self) -> None:
        self._tokens = 0
        self._bytes = 0
        self._messages = 0

    def most_tokens(self, request: ModelRequest) -> int:
        """Return an upper bound for the input of this request."""
        size = sent_bytes(request)
        goes_on = len(request.messages) > self._messages and size > self._bytes
        again = (len(request.messages), size) == (self._messages, self._bytes)
        if not (goes_on or again):  # another conversation has begun
            self._tokens = self._bytes = self._messages = 0
        return self._tokens + size - self._bytes + _MARGIN_TOKENS

    def learn(self, request: ModelRequest, usage: Mapping[str, int]) -> None:
        """Take over what the service has counted for this request."""
        counted = sum(count for name, count in usage.items() if name != "output_tokens")
        if counted:
            self._tokens, self._bytes = counted, sent_bytes(request)
            self._messages = len(request.messages)
