"""Runs the calls of one turn: side by side where all of them only look, else one after another, in order.

A call may be offered before the turn is complete; it starts as soon as nothing before it stands in its way.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Any

from swarm.core.tags import tool_text
from swarm.permissions.calls import Call, Decision
from swarm.values import Value
from worker.messages import Block, interrupted_result, is_interrupted, tool_result
from worker.tools.contract import Tool, ToolContext, ToolInput, ToolOutput
from worker.tools.life import Gate, live
from worker.tools.results import Kept, encodable, limit_of, persist, without_blank
from worker.tools.validation import InvalidInputError, parse_input

OnStart = Callable[[Block], object]
"""Told of each call just before it starts."""

OnResult = Callable[[Block, float, str | None], object]
"""Told of each result: the block, the seconds it took, the file that holds the whole of a persisted one."""

_SHELL = "Bash"
_SHELL_FAILED = (
    "Not run: a command before it in the same message failed ({failed}), and this one may depend on it. Look "
    "at that failure first, then run what is still wanted."
)
_SHOWN_CHARS = 80
_CALLS_TO_EXPECT = 50


async def execute(
    calls: Sequence[Block],
    tools: Sequence[Tool[Any]],
    context: ToolContext,
    gate: Gate,
    on_result: OnResult,
) -> list[Block]:
    """Run the calls of a complete turn; see `Turn.finish`."""
    return await Turn({tool.name: tool for tool in tools}, context, gate, on_result).finish(calls)


class _Ended(Value):
    """A call that ended, and whether its text may still be moved to a file: `raw`, as it came."""

    at: int
    raw: str = ""
    kept: Kept
    is_error: bool
    elapsed: float
    movable: bool


class Turn:
    """The calls of one turn by their place in it: ids are the model's, and might repeat.

    `on_result` hears of each result once, as its call ends; only results so large that the budget of the
    turn may not hold them are kept back until all have ended.
    """

    def __init__(
        self,
        tools: dict[str, Tool[Any]],
        context: ToolContext,
        gate: Gate,
        on_result: OnResult,
        on_start: OnStart | None = None,
    ) -> None:
        self._calls: list[Block] = []
        self._tools = tools
        self._context = context
        self._gate = gate
        self._on_result = on_result
        self._on_start = on_start
        self._settings = context.settings
        self._running: dict[asyncio.Task[None], bool] = {}
        self._next = 0
        self._held: list[_Ended] = []
        self._told: dict[int, Block] = {}
        self._failed_command: str | None = None
        # No result below an even share is ever moved by the budget, so it need not wait for the others.
        self._share = self._settings.message_results_max_chars // _CALLS_TO_EXPECT
        self._fault: BaseException | None = None

    @property
    def has_begun(self) -> bool:
        """Whether a call has been started."""
        return self._next > 0

    def offer(self, call: Block) -> None:
        """Take the next call of the turn, and start it if it may start now."""
        self._calls.append(call)
        self._start()

    async def finish(self, calls: Sequence[Block]) -> list[Block]:
        """Run all `calls`, of which some may have been offered, and return one result for each, in order.

        When this is cancelled, what runs is ended and `on_result` still hears of every call, before the
        cancellation goes on.
        """
        self._share = self._settings.message_results_max_chars // max(1, len(calls))
        self._calls.extend(calls[len(self._calls) :])
        try:
            self._start()
            while self._running:
                await asyncio.wait(self._running, return_when=asyncio.FIRST_COMPLETED)
                self._start()
        finally:
            await self._end()
            self._tell_rest()
        if self._fault is not None:
            raise self._fault
        return [self._told[at] for at in range(len(self._calls))]

    async def abandon(self) -> None:
        """End what runs of a turn that nobody will finish; `on_result` hears of every call."""
        try:
            await self._end()
        finally:
            self._tell_rest()

    # Starting

    def _start(self) -> None:
        """Start every call that may start: nothing overtakes a call that must run alone."""
        for task in [task for task in self._running if task.done()]:
            del self._running[task]
            self._note_fault(task)
        while self._next < len(self._calls) and self._fault is None:
            at = self._next
            if self._follows_failure(at):
                self._next += 1
                self._tell(self._not_run(at))
                continue
            shares = self._may_share(self._calls[at])
            if self._running and not (shares and all(self._running.values())):
                return
            if len(self._running) >= self._settings.tool_concurrency_max:
                return
            self._next += 1
            if self._on_start is not None:
                self._on_start(self._calls[at])
            task = asyncio.ensure_future(self._run(at))
            task.add_done_callback(self._ended_by_itself)
            self._running[task] = shares

    def _ended_by_itself(self, task: asyncio.Task[None]) -> None:
        """Go on with the next call, also while nobody waits for the turn yet."""
        if task not in self._running or task.cancelled():
            return
        try:
            self._start()
        except Exception as error:  # noqa: BLE001 - whoever waits for the turn is told
            self._fault = self._fault or error

    def _note_fault(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (fault := task.exception()) is not None:
            self._fault = self._fault or fault

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

    def _follows_failure(self, at: int) -> bool:
        return self._failed_command is not None and self._calls[at].get("name") == _SHELL

    def _not_run(self, at: int) -> _Ended:
        text = _SHELL_FAILED.format(failed=self._failed_command)
        return _Ended(at=at, kept=Kept(text=tool_text(text)), is_error=True, elapsed=0.0, movable=False)

    async def _run(self, at: int) -> None:
        began, gate = time.monotonic(), _Timed(self._gate)
        output = await live(self._calls[at], self._tools, self._context, gate)
        if output.is_error and self._calls[at].get("name") == _SHELL:
            self._failed_command = _shown(self._calls[at])
        ended = self._map(at, output, max(0.0, time.monotonic() - began - gate.seconds))
        if len(ended.kept.text) > self._share:
            self._held.append(ended)
        else:
            self._tell(ended)

    # Ends

    async def _end(self) -> None:
        """End what still runs, and wait for that, however often this is cancelled meanwhile."""
        for task in self._running:
            task.cancel()
        cancelled: asyncio.CancelledError | None = None
        while left := {task for task in self._running if not task.done()}:
            try:
                await asyncio.wait(left)
            except asyncio.CancelledError as error:
                cancelled = error
        for task in self._running:
            self._note_fault(task)
        self._running.clear()
        if cancelled is not None:
            self._tell_rest()
            raise cancelled

    def _map(self, at: int, output: ToolOutput, elapsed: float) -> _Ended:
        call = self._calls[at]
        name = str(call.get("name", ""))
        tool = self._tools.get(name)
        limit = limit_of(
            self._settings.result_max_chars if tool is None else tool.max_result_chars, self._settings
        )
        raw = encodable(without_blank(output.text, name))
        kept = Kept(text=raw if output.tagged else tool_text(raw))
        movable = limit is not None
        if limit is not None and len(kept.text) > limit:
            kept = self._move(at, raw)
            movable = False
        return _Ended(at=at, raw=raw, kept=kept, is_error=output.is_error, elapsed=elapsed, movable=movable)

    def _move(self, at: int, raw: str) -> Kept:
        return persist(raw, str(self._calls[at]["id"]), self._context.results_dir, self._settings)

    def _tell(self, ended: _Ended) -> None:
        call = self._calls[ended.at]
        block = tool_result(call["id"], ended.kept.text, is_error=ended.is_error)
        if is_interrupted(block):  # the words are ours: from a tool they mean something else
            block = tool_result(call["id"], f"{call.get('name')}: {ended.kept.text}", is_error=True)
        self._told[ended.at] = block
        self._on_result(block, ended.elapsed, ended.kept.persisted)

    def _tell_rest(self) -> None:
        """Tell of what was kept back, then of the calls that a cancellation left without an end."""
        for ended in sorted(self._within_budget(), key=lambda one: one.at):
            self._tell(ended)
        self._held.clear()
        for at, call in enumerate(self._calls):
            if at not in self._told:
                block = interrupted_result(call["id"], started=at < self._next)
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
                kept = min(self._move(ended.at, ended.raw), kept, key=lambda one: len(one.text))
                total -= len(ended.kept.text) - len(kept.text)
            fitting.append(ended.replace(kept=kept))
        return fitting


def _shown(call: Block) -> str:
    given = call.get("input")
    command = " ".join(str(given.get("command", "") if isinstance(given, dict) else "").split())
    return command if len(command) <= _SHOWN_CHARS else command[: _SHOWN_CHARS - 1] + "…"


class _Timed:
    """A gate that knows how long it took: what a person needs for an answer is no time of the tool."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate
        self.seconds = 0.0

    async def __call__(self, tool: Tool[Any], given: ToolInput, call: Call) -> Decision:
        began = time.monotonic()
        try:
            return await self._gate(tool, given, call)
        finally:
            self.seconds += time.monotonic() - began
