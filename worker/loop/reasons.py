"""Why the loop goes round again, and why it ended. A new path gets a word here and a test."""

from __future__ import annotations

from collections.abc import Mapping

from swarm.errors import SwarmError
from swarm.values import Value
from worker.messages import Message

NEXT_TURN = "next_turn"
"""Calls were run, and their results belong to the model."""

OUTPUT_ESCALATED = "max_output_tokens_escalate"
"""The answer was cut off at the ordinary limit: the same request goes out once more with a higher one."""

OUTPUT_RECOVERY = "max_output_tokens_recovery"
"""It was cut off even so: what came is kept, and the model is asked to go on where it was."""

RESULTS_CLEARED = "results_cleared"
"""The conversation had become too long for the model: the oldest results of tools were taken out."""

EMPTY_ANSWER = "empty_answer"
"""The model said nothing and called nothing; it is told so."""

CONTINUE_REASONS = (NEXT_TURN, OUTPUT_ESCALATED, OUTPUT_RECOVERY, RESULTS_CLEARED, EMPTY_ANSWER)

COMPLETED = "completed"
TASK_ENDED = "task_ended"
MAX_TURNS = "max_turns"
MODEL_ERROR = "model_error"
PROMPT_TOO_LONG = "prompt_too_long"
REPEATED_FAILURES = "repeated_failures"
BUDGET_SPENT = "budget_spent"
NO_SERVICE = "aborted_service"
"""The model's service serves the agent nothing now. A later life goes on from there, as after a stop."""
ABORTED_STREAMING = "aborted_streaming"
ABORTED_TOOLS = "aborted_tools"

TERMINAL_REASONS = (
    COMPLETED,
    TASK_ENDED,
    MAX_TURNS,
    MODEL_ERROR,
    PROMPT_TOO_LONG,
    REPEATED_FAILURES,
    BUDGET_SPENT,
    NO_SERVICE,
    ABORTED_STREAMING,
    ABORTED_TOOLS,
)
ABORTED = (ABORTED_STREAMING, ABORTED_TOOLS)


class Terminal(Value):
    """How a loop ended. Only `completed` and `task_ended` may lead to a completed task.

    `text` is what the last assistant turn said; `error` is there for the ends that the model's answer, or
    the lack of one, led to. `messages` is valid to send again, whatever the reason.
    """

    reason: str
    messages: tuple[Message, ...]
    turns: int
    usage: Mapping[str, int]
    text: str = ""
    error: SwarmError | None = None
