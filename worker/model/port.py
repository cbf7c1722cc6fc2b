"""The one way to ask a model for its next turn."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any, Protocol

from swarm.values import Value
from worker.messages import Message


class ModelRequest(Value):
    """Everything the model gets; models remember nothing, so each request holds all of it."""

    model: str
    system: tuple[str, ...]
    messages: list[Message]
    tools: list[dict[str, Any]]
    max_tokens: int


class TextDelta(Value):
    """A piece of text on its way, for those who watch; the whole of it comes in `TurnDone`."""

    text: str


class TurnDone(Value):
    """The complete turn, last event of a stream. `message` goes into the next request as it is."""

    message: Message
    stop_reason: str
    usage: dict[str, int]


ModelEvent = TextDelta | TurnDone


class Model(Protocol):
    """A model. An answer that cannot be had is a `ModelError`, raised from the stream."""

    name: str

    def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Yield what arrives; the last event is the only `TurnDone`. Closing it early drops the request."""
        ...

    def unfinished(self, messages: list[Message]) -> str | None:
        """Return why work that ends with these messages is not done yet, or None; only a script knows."""
        ...

    def may_go_on(self, messages: list[Message]) -> bool:
        """Tell whether it would take another turn after these; a script has steps left and no surprise."""
        ...
