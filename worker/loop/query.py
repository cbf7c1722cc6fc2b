"""Drives the state machine: an async generator that tells what happens and ends with how it ended."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import Protocol

from swarm.errors import ModelError
from swarm.values import Value
from worker.loop.abort import Aborted, unless_aborted
from worker.loop.advance import advance, attach, kept
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
)
from worker.messages import Block, Message, assistant_message, repair_pairing
from worker.model.port import BlockDone, Model, ModelEvent, ModelRequest, Retrying, TextDelta, TurnDone


class Tools(Protocol):
    """Runs the calls of one turn after the other; never raises for a tool that fails."""

    def offer(self, call: Block) -> None:
        """Take a call of a turn that is not complete yet; it may be started at once."""
        ...

    def has_begun(self) -> bool:
        """Whether a call of this turn has been started."""
        ...

    def forget(self) -> None:
        """Drop the calls of a turn that came to nothing. None of them has been started."""
        ...

    async def run(self, calls: Sequence[Block]) -> ToolsRan:
        """Run all calls of the complete turn, those that were offered and the others, to their ends."""
        ...


class LoopDeps(Value):
    """Everything the loop cannot decide by itself, handed in.

    `make_request` is given the messages and how many tokens the answer may have. `gather_attachments`
    returns what the model must hear before its next turn, and may keep it waiting. `abort` is set once.
    """

    model: Model
    make_request: Callable[[list[Message], int], ModelRequest]
    tools: Tools
    gather_attachments: Callable[[], Awaitable[Sequence[Block]]]
    abort: asyncio.Event


class RequestStarted(Value):
    """An iteration begins; `transition` says why the one before went on."""

    turn: int
    transition: Transition | None


class AssistantTurn(Value):
    """A complete turn of the model. The consumer has it on disk before the calls in it are waited for."""

    message: Message
    stop_reason: str
    usage: Mapping[str, int]


class LoopEnded(Value):
    """Always the last event, always exactly one."""

    terminal: Terminal


LoopEvent = RequestStarted | TextDelta | Retrying | AssistantTurn | LoopEnded


async def run_loop(state: LoopState, deps: LoopDeps) -> AsyncGenerator[LoopEvent, None]:
    """Yield what happens until the loop ends.

    Messages that are yielded are copies. Raises only for faults of the harness itself; a model that cannot
    answer and a stop signal are ends like others.
    """
    step: Step = AskModel(state=state)
    while not isinstance(step, Finish):
        if isinstance(step, RunTools):
            ran = await deps.tools.run(copy.deepcopy(step.calls))
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
                if isinstance(event, TextDelta | Retrying):
                    yield event
                else:
                    observed = event
        turn = kept(asking, observed) if isinstance(observed, Answered) else None
        if turn is None:
            deps.tools.forget()
        else:
            yield _told(turn, observed)
        step = advance(asking, observed)
    yield LoopEnded(terminal=step.terminal)


async def _ask(state: LoopState, deps: LoopDeps) -> AsyncGenerator[TextDelta | Retrying | Observation, None]:
    """Yield text as it comes and, last, what the model's turn came to.

    An answer that breaks off after one of its calls was started is not asked for again: what is complete of
    it is the turn.
    """
    request = deps.make_request(repair_pairing(state.messages), state.output_limit)
    blocks: list[Block] = []
    try:
        async with aclosing(deps.model.stream(request)) as stream:
            while (event := await unless_aborted(deps.abort, _next_event(stream))) is not None:
                if isinstance(event, TurnDone):
                    yield _answered(event, begun=deps.tools.has_begun())
                    return
                if isinstance(event, BlockDone):
                    blocks.append(event.block)
                    if event.block.get("type") == "tool_use":
                        deps.tools.offer(copy.deepcopy(event.block))
                    continue
                if isinstance(event, Retrying):
                    if deps.tools.has_begun():
                        break
                    blocks.clear()
                    deps.tools.forget()
                yield event
        failure: Observation = ModelFailed(error=ModelError("the model's answer broke off before its end"))
    except Aborted:
        failure = StreamAborted()
    except ModelError as error:
        failure = ModelFailed(error=error)
    yield _broken_off(blocks) if deps.tools.has_begun() else failure


async def _next_event(stream: AsyncIterator[ModelEvent]) -> ModelEvent | None:
    return await anext(stream, None)


def _answered(done: TurnDone, *, begun: bool) -> Answered:
    return Answered(message=done.message, stop_reason=done.stop_reason, usage=done.usage, begun=begun)


def _broken_off(blocks: Sequence[Block]) -> Answered:
    """Return the turn that these blocks make; calls in it are run, so it does not matter how it ended."""
    return Answered(message=assistant_message(*blocks), stop_reason="tool_use", usage={}, begun=True)


def _told(turn: Message, answer: Observation) -> AssistantTurn:
    assert isinstance(answer, Answered)  # noqa: S101 - only an answer has a turn
    return AssistantTurn(
        message=copy.deepcopy(turn), stop_reason=answer.stop_reason, usage=dict(answer.usage)
    )
