"""Why the loop goes round again, and why it ended. A new path gets a word here and a test."""

from __future__ import annotations

from collections.abc import Mapping

from swarm.errors import SwarmError
from swarm.values import Value
from worker.messages import Message

NEXT_TURN = "next_turn"
"""The one reason to go on so far: calls were run and their results belong to the model."""

CONTINUE_REASONS = (NEXT_TURN,)

COMPLETED = "completed"
TASK_ENDED = "task_ended"
MAX_TURNS = "max_turns"
MODEL_ERROR = "model_error"
ABORTED_STREAMING = "aborted_streaming"
ABORTED_TOOLS = "aborted_tools"

TERMINAL_REASONS = (COMPLETED, TASK_ENDED, MAX_TURNS, MODEL_ERROR, ABORTED_STREAMING, ABORTED_TOOLS)
ABORTED = (ABORTED_STREAMING, ABORTED_TOOLS)


class Terminal(Value):
    """How a loop ended. Only `completed` and `task_ended` may lead to a completed task.

    `text` is what the last assistant turn said; `error` is there exactly for `model_error`. `messages` is
    valid to send again, whatever the reason.
    """

    reason: str
    messages: tuple[Message, ...]
    turns: int
    usage: Mapping[str, int]
    text: str = ""
    error: SwarmError | None = None
