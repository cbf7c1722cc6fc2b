"""The loop as a state machine: what was observed goes in, what to do next comes out. Nothing here waits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from swarm.errors import ModelError
from swarm.values import Value
from worker.loop.reasons import (
    ABORTED_STREAMING,
    ABORTED_TOOLS,
    COMPLETED,
    MAX_TURNS,
    MODEL_ERROR,
    NEXT_TURN,
    TASK_ENDED,
    Terminal,
)
from worker.messages import Block, Message, blocks_of, final_text, tool_uses, user_message

END_SIGNALS = ("end_turn", "stop_sequence")
"""Stop reasons by which a model says that it has finished speaking."""


class Transition(Value):
    """Why the iteration before this one went on."""

    reason: str


class LoopState(Value):
    """All that one iteration hands to the next. Every continue site spells out each field."""

    messages: tuple[Message, ...]
    turn: int
    turns_max: int
    usage: Mapping[str, int]
    transition: Transition | None


def first_state(messages: Sequence[Message], turns_max: int) -> LoopState:
    return LoopState(messages=tuple(messages), turn=1, turns_max=turns_max, usage={}, transition=None)


# What can be observed


class Answered(Value):
    """The model's turn is complete."""

    message: Message
    stop_reason: str
    usage: Mapping[str, int]


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


def advance(state: LoopState, observation: Observation) -> Step:
    """Return what to do after this observation. `state` is the one that the step before carried."""
    match observation:
        case Answered():
            return _after_answer(state, observation)
        case ToolsRan():
            return _after_tools(state, observation)
        case ModelFailed():
            return Finish(terminal=_terminal(state, MODEL_ERROR, error=observation.error))
        case StreamAborted():
            return Finish(terminal=_terminal(state, ABORTED_STREAMING))


def attach(state: LoopState, blocks: Sequence[Block]) -> LoopState:
    """Return the state with more user text for the next request, after what the user side says already."""
    if not blocks:
        return state
    *earlier, last = state.messages
    return LoopState(
        messages=(*earlier, user_message(*blocks_of(last), *blocks)),
        turn=state.turn,
        turns_max=state.turns_max,
        usage=state.usage,
        transition=state.transition,
    )


def _after_answer(state: LoopState, answer: Answered) -> Step:
    heard = LoopState(
        messages=(*state.messages, answer.message),
        turn=state.turn,
        turns_max=state.turns_max,
        usage=_add(state.usage, answer.usage),
        transition=state.transition,
    )
    calls = tool_uses(answer.message)
    if calls:
        return RunTools(state=heard, calls=calls)
    fault = _fault_of(answer)
    if fault is None:
        return Finish(terminal=_terminal(heard, COMPLETED, text=final_text(answer.message)))
    return Finish(terminal=_terminal(heard, MODEL_ERROR, text=final_text(answer.message), error=fault))


def _fault_of(answer: Answered) -> ModelError | None:
    """An answer without calls ends the work only if it says something and was meant to end there."""
    if not final_text(answer.message):
        return ModelError("the model answered with neither text nor a tool call")
    if answer.stop_reason not in END_SIGNALS:
        return ModelError(
            f"the model's answer ended by {answer.stop_reason!r} and not because it had finished",
            details={"stop_reason": answer.stop_reason},
        )
    return None


def _after_tools(state: LoopState, ran: ToolsRan) -> Step:
    answered = LoopState(
        messages=(*state.messages, user_message(*ran.results)),
        turn=state.turn + 1,
        turns_max=state.turns_max,
        usage=state.usage,
        transition=Transition(reason=NEXT_TURN),
    )
    ends = (
        (ran.task_ended, TASK_ENDED),
        (ran.aborted, ABORTED_TOOLS),
        (state.turn >= state.turns_max, MAX_TURNS),
    )
    for applies, reason in ends:
        if applies:
            terminal = _terminal(answered, reason, text=final_text(state.messages[-1]))
            return Finish(terminal=terminal.replace(turns=state.turn))
    return AskModel(state=answered)


def _terminal(state: LoopState, reason: str, *, text: str = "", error: ModelError | None = None) -> Terminal:
    return Terminal(
        reason=reason, messages=state.messages, turns=state.turn, usage=state.usage, text=text, error=error
    )


def _add(total: Mapping[str, int], more: Mapping[str, int]) -> dict[str, int]:
    return dict(total) | {name: total.get(name, 0) + count for name, count in more.items()}
