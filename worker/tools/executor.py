"""Runs the calls of one turn: side by side where all of them only look, else one after another, in order."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from swarm.values import Value
from worker.messages import Block, interrupted_result, is_interrupted, tool_result
from worker.tools.contract import Tool, ToolContext, ToolOutput
from worker.tools.life import Gate, live
from worker.tools.results import Kept, encodable, limit_of, persist, without_blank
from worker.tools.validation import InvalidInputError, parse_input

OnResult = Callable[[Block, float, str | None], object]
"""Told of each result: the block, the seconds it took, the file that holds the whole of a persisted one."""


async def execute(
    calls: Sequence[Block],
    tools: Sequence[Tool[Any]],
    context: ToolContext,
    gate: Gate,
    on_result: OnResult,
) -> list[Block]:
    """Run the calls and return exactly one result for each, in their order.

    `on_result` hears of each result once, as its call ends; only results so large that the budget of the
    turn may not hold them are kept back until all have ended. When this is cancelled, what runs is ended and
    `on_result` still hears of every call, before the cancellation goes on.
    """
    turn = _Turn(calls, {tool.name: tool for tool in tools}, context, gate, on_result)
    try:
        for batch in turn.batches():
            await turn.run(batch)
    finally:
        turn.finish()
    return turn.blocks()


class _Ended(Value):
    """A call that ended, and whether its text may still be moved to a file."""

    at: int
    kept: Kept
    is_error: bool
    elapsed: float
    movable: bool


class _Turn:
    """The calls of one turn by their place in it: ids are the model's, and might repeat."""

    def __init__(
        self,
        calls: Sequence[Block],
        tools: dict[str, Tool[Any]],
        context: ToolContext,
        gate: Gate,
        on_result: OnResult,
    ) -> None:
        self._calls = calls
        self._tools = tools
        self._context = context
        self._gate = gate
        self._on_result = on_result
        self._settings = context.settings
        self._started: set[int] = set()
        self._held: list[_Ended] = []
        self._told: dict[int, Block] = {}
        # No result below an even share is ever moved by the budget, so it need not wait for the others.
        self._share = self._settings.message_results_max_chars // max(1, len(calls))

    def blocks(self) -> list[Block]:
        return [self._told[at] for at in range(len(self._calls))]

    def batches(self) -> Iterator[list[int]]:
        """Yield places of calls to run together; nothing overtakes a call that must run alone."""
        batch: list[int] = []
        for at, call in enumerate(self._calls):
            if self._may_share(call):
                batch.append(at)
                continue
            if batch:
                yield batch
            batch = []
            yield [at]
        if batch:
            yield batch

    def _may_share(self, call: Block) -> bool:
        tool = self._tools.get(str(call.get("name", "")))
        if tool is None:
            return False
        try:
            return tool.concurrency_safe(parse_input(tool, call.get("input")))
        except InvalidInputError:
            return False
        except Exception:  # noqa: BLE001 - a tool that cannot tell runs alone
            return False

    async def run(self, batch: list[int]) -> None:
        if len(batch) == 1:
            await self._run_one(batch[0])
            return
        room = asyncio.Semaphore(self._settings.tool_concurrency_max)
        try:
            async with asyncio.TaskGroup() as group:
                for at in batch:
                    group.create_task(self._run_with(room, at))
        except BaseExceptionGroup as several:
            raise several.exceptions[0] from None

    async def _run_with(self, room: asyncio.Semaphore, at: int) -> None:
        async with room:
            await self._run_one(at)

    async def _run_one(self, at: int) -> None:
        self._started.add(at)
        began = time.monotonic()
        output = await live(self._calls[at], self._tools, self._context, self._gate)
        ended = self._map(at, output, time.monotonic() - began)
        if len(ended.kept.text) > self._share:
            self._held.append(ended)
        else:
            self._tell(ended)

    def _map(self, at: int, output: ToolOutput, elapsed: float) -> _Ended:
        call = self._calls[at]
        name = str(call.get("name", ""))
        tool = self._tools.get(name)
        limit = limit_of(
            self._settings.result_max_chars if tool is None else tool.max_result_chars, self._settings
        )
        kept = Kept(text=encodable(without_blank(output.text, name)))
        movable = limit is not None
        if limit is not None and len(kept.text) > limit:
            kept = self._move(at, kept)
            movable = False
        return _Ended(at=at, kept=kept, is_error=output.is_error, elapsed=elapsed, movable=movable)

    def _move(self, at: int, kept: Kept) -> Kept:
        return persist(kept.text, str(self._calls[at]["id"]), self._context.results_dir, self._settings)

    def _tell(self, ended: _Ended) -> None:
        call = self._calls[ended.at]
        block = tool_result(call["id"], ended.kept.text, is_error=ended.is_error)
        if is_interrupted(block):  # the words are ours: from a tool they mean something else
            block = tool_result(call["id"], f"{call.get('name')}: {ended.kept.text}", is_error=True)
        self._told[ended.at] = block
        self._on_result(block, ended.elapsed, ended.kept.persisted)

    def finish(self) -> None:
        """Tell of what was kept back, then of the calls that a cancellation left without an end."""
        for ended in sorted(self._within_budget(), key=lambda one: one.at):
            self._tell(ended)
        for at, call in enumerate(self._calls):
            if at not in self._told:
                block = interrupted_result(call["id"], started=at in self._started)
                self._told[at] = block
                self._on_result(block, 0.0, None)

    def _within_budget(self) -> list[_Ended]:
        """Return the held results, the largest of them moved to files until all of the turn fits."""
        total = sum(len(block["content"]) for block in self._told.values())
        total += sum(len(ended.kept.text) for ended in self._held)
        fitting: list[_Ended] = []
        for ended in sorted(self._held, key=lambda one: -len(one.kept.text)):
            kept = ended.kept
            if total > self._settings.message_results_max_chars and ended.movable:
                kept = min(self._move(ended.at, kept), kept, key=lambda one: len(one.text))
                total -= len(ended.kept.text) - len(kept.text)
            fitting.append(ended.replace(kept=kept))
        return fitting
