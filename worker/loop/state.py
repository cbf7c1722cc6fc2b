"""What the loop carries from one iteration to the next, what it can observe, and what it can do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from swarm.errors import ModelError
from swarm.values import Value
from worker.loop.reasons import Terminal
from worker.messages import Block, Message


class Limits(Value):
    """How far each way of going on goes. `output` and `output_escalated` are tokens of one answer."""

    turns: int
    output: int = 8_000
    output_escalated: int = 64_000
    output_recoveries: int = 3
    clearings: int = 3
    empty_answers: int = 2
    equal_failures: int = 5


class Transition(Value):
    """Why the iteration before this one went on; `said` is what the model is told because of it.

    `cleared` are the calls whose results were taken out.
    """

    reason: str
    said: str | None = None
    cleared: tuple[str, ...] = ()


class Recoveries(Value):
    """What has been tried since the last ordinary turn; each of them only so often."""

    output: int = 0
    clearings: int = 0
    empty_answers: int = 0


class Failing(Value):
    """What the calls of the last turn came to if all of them failed, and how often that came in a row."""

    calls: tuple[Any, ...] = ()
    times: int = 0


class LoopState(Value):
    """All that one iteration hands to the next. Every continue site spells out each field.

    `output_limit` is that of the next answer, in tokens.
    """

    messages: tuple[Message, ...]
    turn: int
    limits: Limits
    usage: Mapping[str, int]
    transition: Transition | None
    output_limit: int
    recoveries: Recoveries
    failing: Failing


def first_state(messages: Sequence[Message], limits: Limits) -> LoopState:
    return LoopState(
        messages=tuple(messages),
        turn=1,
        limits=limits,
        usage={},
        transition=None,
        output_limit=limits.output,
        recoveries=Recoveries(),
        failing=Failing(),
    )


# What can be observed


class Answered(Value):
    """The model's turn is complete. `begun`: tools of it have been started, so it cannot be taken back."""

    message: Message
    stop_reason: str
    usage: Mapping[str, int]
    begun: bool = False


class ModelFailed(Value):
    """The model gave no usable answer, and asking again is not ours to decide."""

    error: ModelError


class StreamAborted(Value):
    """We were stopped while the model was speaking; what it had said is dropped."""


class ToolsRan(Value):
    """Every call of the turn has its one result.

    `aborted`: we were stopped meanwhile, so some say interrupted. `task_ended`: one of the calls ended the
    agent's own task.
    """

    results: tuple[Block, ...]
    aborted: bool = False
    task_ended: bool = False


Observation = Answered | ModelFailed | StreamAborted | ToolsRan


# What can be done next


class AskModel(Value):
    """Ask for the next turn, then `advance` with what came of it."""

    state: LoopState


class RunTools(Value):
    """Run these calls, then `advance(state, ToolsRan(…))`."""

    state: LoopState
    calls: tuple[Block, ...]


class Finish(Value):
    """Nothing is left to do."""

    terminal: Terminal


Step = AskModel | RunTools | Finish
