"""The one way to ask a model for its next turn."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any, Protocol

from swarm.values import Value
from worker.messages import Block, Message


class ModelRequest(Value):
    """Everything the model gets; models remember nothing, so each request holds all of it.

    `system` begins with what all agents share.
    """

    model: str
    system: tuple[str, ...]
    messages: list[Message]
    tools: list[dict[str, Any]]
    max_tokens: int


class TextDelta(Value):
    """A piece of text on its way, for those who watch; the whole of it comes in `TurnDone`."""

    text: str


class BlockDone(Value):
    """A block of the turn is complete. A tool may start now, though the turn may still break off."""

    block: Block


class Retrying(Value):
    """The answer broke off, or never began, and is asked for again after a wait: what came of it is void.

    Whoever has acted on a block of it closes the stream and goes on with the blocks that were complete.
    """

    why: str
    tried: int
    wait_seconds: float


class TurnDone(Value):
    """The complete turn, last event of a stream. `message` goes into the next request as it is.

    `usage` has the service's four counters, of this answer alone; `model` is the one that gave it.
    """

    message: Message
    stop_reason: str
    usage: dict[str, int]
    model: str = ""


ModelEvent = TextDelta | BlockDone | Retrying | TurnDone


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
