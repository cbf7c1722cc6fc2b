"""The loop as a state machine: what was observed goes in, what to do next comes out. Nothing here waits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from swarm.errors import ModelError
from worker.loop.clearing import clear_oldest
from worker.loop.reasons import (
    ABORTED_STREAMING,
    ABORTED_TOOLS,
    BUDGET_SPENT,
    COMPLETED,
    EMPTY_ANSWER,
    MAX_TURNS,
    MODEL_ERROR,
    NEXT_TURN,
    NO_SERVICE,
    OUTPUT_ESCALATED,
    OUTPUT_RECOVERY,
    PROMPT_TOO_LONG,
    REPEATED_FAILURES,
    RESULTS_CLEARED,
    TASK_ENDED,
    Terminal,
)
from worker.loop.state import (
    Answered,
    AskModel,
    Failing,
    Finish,
    LoopState,
    ModelFailed,
    Observation,
    Recoveries,
    RunTools,
    Step,
    StreamAborted,
    ToolsRan,
    Transition,
)
from worker.messages import UNPARSED, Block, Message, blocks_of, final_text, tool_uses, user_message
from worker.model.failures import NO_BUDGET, UNSERVED
from worker.model.failures import PROMPT_TOO_LONG as TOO_LONG
from worker.prompts.texts import ANSWER_EMPTY, GO_ON_WHERE_CUT

END_SIGNALS = ("end_turn", "stop_sequence")
"""Stop reasons by which a model says that it has finished speaking."""

CUT_OFF = "max_tokens"
WINDOW_FULL = "model_context_window_exceeded"


def advance(state: LoopState, observation: Observation) -> Step:
    """Return what to do after this observation. `state` is the one that the step before carried."""
    match observation:
        case Answered():
            return _after_answer(state, observation)
        case ToolsRan():
            return _after_tools(state, observation)
        case ModelFailed():
            return _after_failure(state, observation.error)
        case StreamAborted():
            return Finish(terminal=_terminal(state, ABORTED_STREAMING))


def kept(state: LoopState, answer: Answered) -> Message | None:
    """Return the part of an answer that becomes a turn of the conversation; None when nothing of it does."""
    if _escalates(state, answer) or not _says_anything(answer.message):
        return None
    if answer.stop_reason != CUT_OFF or answer.begun:
        return answer.message
    whole = [block for block in blocks_of(answer.message) if UNPARSED not in block.get("input", ())]
    message: Message = {**answer.message, "content": whole}
    return message if _says_anything(message) else None


def attach(state: LoopState, blocks: Sequence[Block]) -> LoopState:
    """Return the state with more user text for the next request, after what the user side says already."""
    if not blocks:
        return state
    return LoopState(
        messages=_with_text(state.messages, *blocks),
        turn=state.turn,
        limits=state.limits,
        usage=state.usage,
        transition=state.transition,
        output_limit=state.output_limit,
        recoveries=state.recoveries,
        failing=state.failing,
    )


# After an answer


def _after_answer(state: LoopState, answer: Answered) -> Step:
    if _escalates(state, answer):
        return _ask_for_more(state, answer)
    turn = kept(state, answer)
    heard = LoopState(
        messages=state.messages if turn is None else (*state.messages, turn),
        turn=state.turn,
        limits=state.limits,
        usage=_add(state.usage, answer.usage),
        transition=state.transition,
        output_limit=state.output_limit,
        recoveries=state.recoveries,
        failing=state.failing,
    )
    calls = () if turn is None else tool_uses(turn)
    if calls:
        return RunTools(state=heard, calls=calls)
    if answer.stop_reason == CUT_OFF:
        return _go_on_where_cut(heard, answer)
    if answer.stop_reason == WINDOW_FULL:
        return _make_room(heard, _fault_of(answer))
    if turn is None:
        return _ask_again(heard)
    text = final_text(turn)
    if answer.stop_reason not in END_SIGNALS:
        return Finish(terminal=_terminal(heard, MODEL_ERROR, text=text, error=_fault_of(answer)))
    return Finish(terminal=_terminal(heard, COMPLETED, text=text))


def _says_anything(message: Message) -> bool:
    return bool(tool_uses(message) or final_text(message))


def _escalates(state: LoopState, answer: Answered) -> bool:
    """Whether the same request is sent once more, with a higher limit, and this answer forgotten."""
    limits = state.limits
    is_cut = answer.stop_reason == CUT_OFF and not answer.begun
    return is_cut and state.output_limit == limits.output < limits.output_escalated


def _ask_for_more(state: LoopState, answer: Answered) -> Step:
    return AskModel(
        state=LoopState(
            messages=state.messages,
            turn=state.turn,
            limits=state.limits,
            usage=_add(state.usage, answer.usage),
            transition=Transition(reason=OUTPUT_ESCALATED),
            output_limit=state.limits.output_escalated,
            recoveries=state.recoveries,
            failing=state.failing,
        )
    )


def _go_on_where_cut(heard: LoopState, answer: Answered) -> Step:
    if heard.recoveries.output >= heard.limits.output_recoveries:
        return Finish(terminal=_terminal(heard, MODEL_ERROR, error=_fault_of(answer)))
    return AskModel(
        state=LoopState(
            messages=_with_text(heard.messages, GO_ON_WHERE_CUT),
            turn=heard.turn,
            limits=heard.limits,
            usage=heard.usage,
            transition=Transition(reason=OUTPUT_RECOVERY, said=GO_ON_WHERE_CUT),
            output_limit=heard.output_limit,
            recoveries=heard.recoveries.replace(output=heard.recoveries.output + 1),
            failing=heard.failing,
        )
    )


def _ask_again(heard: LoopState) -> Step:
    if heard.recoveries.empty_answers >= heard.limits.empty_answers:
        fault = ModelError("the model answered with neither text nor a tool call")
        return Finish(terminal=_terminal(heard, MODEL_ERROR, error=fault))
    return AskModel(
        state=LoopState(
            messages=_with_text(heard.messages, ANSWER_EMPTY),
            turn=heard.turn,
            limits=heard.limits,
            usage=heard.usage,
            transition=Transition(reason=EMPTY_ANSWER, said=ANSWER_EMPTY),
            output_limit=heard.output_limit,
            recoveries=heard.recoveries.replace(empty_answers=heard.recoveries.empty_answers + 1),
            failing=heard.failing,
        )
    )


def _fault_of(answer: Answered) -> ModelError:
    return ModelError(
        f"the model's answer ended by {answer.stop_reason!r} and not because it had finished",
        details={"stop_reason": answer.stop_reason},
    )


# After a failure


def _after_failure(state: LoopState, error: ModelError) -> Step:
    kind = error.details.get("kind")
    if kind == TOO_LONG:
        return _make_room(state, error)
    reason = BUDGET_SPENT if kind == NO_BUDGET else NO_SERVICE if kind in UNSERVED else MODEL_ERROR
    return Finish(terminal=_terminal(state, reason, error=error))


def _make_room(state: LoopState, error: ModelError) -> Step:
    messages, cleared = clear_oldest(state.messages)
    if not cleared or state.recoveries.clearings >= state.limits.clearings:
        return Finish(terminal=_terminal(state, PROMPT_TOO_LONG, error=error))
    return AskModel(
        state=LoopState(
            messages=messages,
            turn=state.turn,
            limits=state.limits,
            usage=state.usage,
            transition=Transition(reason=RESULTS_CLEARED, cleared=cleared),
            output_limit=state.output_limit,
            recoveries=state.recoveries.replace(clearings=state.recoveries.clearings + 1),
            failing=state.failing,
        )
    )


# After tools


def _after_tools(state: LoopState, ran: ToolsRan) -> Step:
    answered = LoopState(
        messages=(*state.messages, user_message(*ran.results)),
        turn=state.turn + 1,
        limits=state.limits,
        usage=state.usage,
        transition=Transition(reason=NEXT_TURN),
        output_limit=state.limits.output,
        recoveries=Recoveries(),
        failing=_failing(state, ran),
    )
    ends = (
        (ran.task_ended, TASK_ENDED),
        (ran.aborted, ABORTED_TOOLS),
        (answered.failing.times >= state.limits.equal_failures, REPEATED_FAILURES),
        (state.turn >= state.limits.turns, MAX_TURNS),
    )
    for applies, reason in ends:
        if applies:
            terminal = _terminal(answered, reason, text=final_text(state.messages[-1]))
            return Finish(terminal=terminal.replace(turns=state.turn))
    return AskModel(state=answered)


def _failing(state: LoopState, ran: ToolsRan) -> Failing:
    """Return what the turn's calls came to if all have failed, counted on when it is the same again."""
    if not ran.results or not all(result.get("is_error") for result in ran.results):
        return Failing()
    asked = [(call.get("name"), call.get("input")) for call in tool_uses(state.messages[-1])]
    calls: tuple[Any, ...] = (*asked, *(result.get("content") for result in ran.results))
    return Failing(calls=calls, times=state.failing.times + 1 if calls == state.failing.calls else 1)


# Parts


def _with_text(messages: tuple[Message, ...], *said: Block | str) -> tuple[Message, ...]:
    """Return the messages with this at their end: in the last one if it is the user's, else in a new one."""
    *earlier, last = messages
    if last["role"] != "user":
        return (*messages, user_message(*said))
    return (*earlier, user_message(*blocks_of(last), *said))


def _terminal(state: LoopState, reason: str, *, text: str = "", error: ModelError | None = None) -> Terminal:
    return Terminal(
        reason=reason, messages=state.messages, turns=state.turn, usage=state.usage, text=text, error=error
    )


def _add(total: Mapping[str, int], more: Mapping[str, int]) -> dict[str, int]:
    return dict(total) | {name: total.get(name, 0) + count for name, count in more.items()}
