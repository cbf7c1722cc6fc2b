"""Whatever a model sends or breaks off: every request, and what is kept, has the form that services take."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from swarm.errors import ModelError
from tests.support.models import check_array
from worker.loop.query import LoopDeps, LoopEnded, run_loop
from worker.loop.reasons import TERMINAL_REASONS, Terminal
from worker.loop.state import Limits, ToolsRan, first_state
from worker.messages import (
    Block,
    Message,
    assistant_message,
    repair_pairing,
    text_block,
    tool_result,
    tool_use,
    unparsed_input,
    user_message,
)
from worker.model.failures import failure
from worker.model.port import BlockDone, ModelEvent, ModelRequest, Retrying, TextDelta, TurnDone

BLOCKS = st.sampled_from(["text", "blank", "thought", "call", "broken call"])
STOPS = st.sampled_from(["end_turn", "tool_use", "max_tokens", "refusal", "model_context_window_exceeded"])
ENDS = st.sampled_from(["done", "done", "done", "retry", "error", "too long", "cut", "abort"])
ANSWERS = st.tuples(st.lists(BLOCKS, max_size=4), STOPS, ENDS)
TOOLS = st.sampled_from(["ok", "ok", "ok", "failed", "aborted", "ended"])


class Sender:
    """Streams the answers that a test drew; with none left it has finished."""

    name = "drawn"

    def __init__(self, answers: Sequence[Any], abort: asyncio.Event) -> None:
        self._answers = list(answers)
        self._abort = abort
        self._number = 0

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        check_array(request.messages)
        while True:
            kinds, stop, end = self._answers.pop(0) if self._answers else (["text"], "end_turn", "done")
            blocks = [self._block(kind) for kind in kinds]
            for block in blocks:
                if block["type"] == "text" and block["text"]:
                    yield TextDelta(text=block["text"])
                yield BlockDone(block=block)
            match end:
                case "done":
                    yield TurnDone(
                        message=assistant_message(*blocks), stop_reason=stop, usage={"output_tokens": 1}
                    )
                    return
                case "retry":
                    yield Retrying(why="overloaded", tried=1, wait_seconds=0.0)
                case "error":
                    raise ModelError("no")
                case "too long":
                    raise failure("prompt_too_long", "prompt is too long")
                case "cut":
                    return
                case _:
                    self._abort.set()
                    await asyncio.Event().wait()

    def _block(self, kind: str) -> Block:
        self._number += 1
        match kind:
            case "text":
                return text_block("Looking.")
            case "blank":
                return text_block(" \n")
            case "thought":
                return {"type": "thinking", "thinking": "hm", "signature": f"s{self._number}"}
            case "call":
                return tool_use(f"t{self._number}", "Bash", {"command": "ls"})
            case _:
                return tool_use(f"t{self._number}", "Write", unparsed_input('{"file'))

    def unfinished(self, messages: list[Message]) -> str | None:
        return None

    def may_go_on(self, messages: list[Message]) -> bool:
        return True


class Hands:
    """Runs nothing, and gives the outcomes that a test drew."""

    def __init__(self, outcomes: Sequence[str], abort: asyncio.Event) -> None:
        self._outcomes = list(outcomes)
        self._abort = abort
        self._offered: list[str] = []
        self.ran: list[str] = []

    def offer(self, call: Block) -> None:
        self._offered.append(call["id"])

    def has_begun(self) -> bool:
        return bool(self._offered)

    def forget(self) -> None:
        assert not self._offered, "a call that was started is forgotten"

    async def run(self, calls: Sequence[Block]) -> ToolsRan:
        ids = [call["id"] for call in calls]
        assert ids[: len(self._offered)] == self._offered, "the turn lacks a call that was started"
        self._offered = []
        self.ran += ids
        outcome = self._outcomes.pop(0) if self._outcomes else "ok"
        results = tuple(tool_result(one, f"{one} came", is_error=outcome == "failed") for one in ids)
        return ToolsRan(
            results=results,
            aborted=outcome == "aborted" or self._abort.is_set(),
            task_ended=outcome == "ended",
        )


async def play(answers: Sequence[Any], outcomes: Sequence[str]) -> tuple[Terminal, Hands]:
    abort = asyncio.Event()
    hands = Hands(outcomes, abort)

    async def nothing() -> tuple[Block, ...]:
        return ()

    deps = LoopDeps(
        model=Sender(answers, abort),
        make_request=lambda messages, limit: ModelRequest(
            model="m", system=(), messages=messages, tools=[], max_tokens=limit
        ),
        tools=hands,
        gather_attachments=nothing,
        abort=abort,
    )
    state = first_state([user_message("go")], Limits(turns=12))
    ends = [event async for event in run_loop(state, deps) if isinstance(event, LoopEnded)]
    assert len(ends) == 1
    return ends[0].terminal, hands


@settings(max_examples=300, deadline=None)
@given(st.lists(ANSWERS, max_size=12), st.lists(TOOLS, max_size=12))
def test_every_request_is_valid_and_no_call_is_run_twice(answers: list[Any], outcomes: list[str]) -> None:
    """Roles alternate, each call has exactly one result right after it, and nothing blank is sent."""
    terminal, hands = asyncio.run(asyncio.wait_for(play(answers, outcomes), timeout=20))

    assert terminal.reason in TERMINAL_REASONS
    assert len(hands.ran) == len(set(hands.ran))
    check_array(repair_pairing([*terminal.messages, user_message("on")]))
