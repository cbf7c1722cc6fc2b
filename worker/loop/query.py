"""Drives the state machine: an async generator that tells what happens and ends with how it ended."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing

from swarm.errors import ModelError
from swarm.values import Value
from worker.loop.abort import Aborted, unless_aborted
from worker.loop.reasons import Terminal
from worker.loop.state import (
    Answered,
    AskModel,
    Finish,
    LoopState,
    ModelFailed,
    Observation,
    RunTools,
    Step,
    StreamAborted,
    ToolsRan,
    Transition,
    advance,
    attach,
)
from worker.messages import Block, Message, repair_pairing
from worker.model.port import Model, ModelRequest, TextDelta, TurnDone


class LoopDeps(Value):
    """Everything the loop cannot decide by itself, handed in.

    `run_tools` returns one result per call, in the order of the calls, and never raises for a tool that
    fails. `gather_attachments` returns what the model must hear before its next turn, and may keep it
    waiting. `abort` is set once.
    """

    model: Model
    make_request: Callable[[list[Message]], ModelRequest]
    run_tools: Callable[[Sequence[Block]], Awaitable[ToolsRan]]
    gather_attachments: Callable[[], Awaitable[Sequence[Block]]]
    abort: asyncio.Event


class RequestStarted(Value):
    """An iteration begins; `transition` says why the one before went on."""

    turn: int
    transition: Transition | None


class AssistantTurn(Value):
    """A complete turn of the model. The consumer has it on disk before the calls in it are started."""

    message: Message
    stop_reason: str
    usage: Mapping[str, int]


class LoopEnded(Value):
    """Always the last event, always exactly one."""

    terminal: Terminal


LoopEvent = RequestStarted | TextDelta | AssistantTurn | LoopEnded


async def run_loop(state: LoopState, deps: LoopDeps) -> AsyncGenerator[LoopEvent, None]:
    """Yield what happens until the loop ends.

    Messages that are yielded are copies. Raises only for faults of the harness itself; a model that cannot
    answer and a stop signal are ends like others.
    """
    step: Step = AskModel(state=state)
    while not isinstance(step, Finish):
        if isinstance(step, RunTools):
            ran = await deps.run_tools(copy.deepcopy(step.calls))
            step = advance(step.state, ran)
            continue
        if deps.abort.is_set():
            step = advance(step.state, StreamAborted())
            continue
        asking = attach(step.state, await deps.gather_attachments())
        if deps.abort.is_set():  # it came while we waited for what there is to tell
            step = advance(asking, StreamAborted())
            continue
        yield RequestStarted(turn=asking.turn, transition=asking.transition)
        observed: Observation = StreamAborted()
        async with aclosing(_ask(asking, deps)) as events:
            async for event in events:
                if isinstance(event, TextDelta):
                    yield event
                else:
                    observed = event
        if isinstance(observed, Answered):
            yield _told(observed)
        step = advance(asking, observed)
    yield LoopEnded(terminal=step.terminal)


async def _ask(state: LoopState, deps: LoopDeps) -> AsyncGenerator[TextDelta | Observation, None]:
    """Yield text as it comes and, last, what the model's turn came to."""
    request = deps.make_request(repair_pairing(state.messages))
    try:
        async with aclosing(deps.model.stream(request)) as stream:
            while (event := await unless_aborted(deps.abort, _next_event(stream))) is not None:
                if isinstance(event, TurnDone):
                    yield Answered(message=event.message, stop_reason=event.stop_reason, usage=event.usage)
                    return
                yield event
        yield ModelFailed(error=ModelError("the model's answer broke off before its end"))
    except Aborted:
        yield StreamAborted()
    except ModelError as error:
        yield ModelFailed(error=error)


async def _next_event(stream: AsyncIterator[TextDelta | TurnDone]) -> TextDelta | TurnDone | None:
    return await anext(stream, None)


def _told(answer: Answered) -> AssistantTurn:
    return AssistantTurn(
        message=copy.deepcopy(answer.message), stop_reason=answer.stop_reason, usage=dict(answer.usage)
    )
