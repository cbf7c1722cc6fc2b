"""The calls of a session's turns: started as they come, and on disk before they start."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from worker.loop.abort import Aborted, unless_aborted
from worker.loop.state import ToolsRan
from worker.messages import Block, interrupted_result
from worker.session.transcript import Transcript
from worker.tools.contract import Tool, ToolContext
from worker.tools.executor import Turn
from worker.tools.life import Gate


class Calls:
    """Runs them, turn by turn. `check` raises when the task is no longer ours: then none is run."""

    def __init__(
        self,
        tools: Sequence[Tool[Any]],
        context: ToolContext,
        gate: Gate,
        transcript: Transcript,
        stop: asyncio.Event,
        check: Callable[[], object],
    ) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self._context = context
        self._gate = gate
        self._transcript = transcript
        self._stop = stop
        self._check = check
        self._turn: Turn | None = None
        self._done: dict[str, Block] = {}
        self._is_written = False

    def offer(self, call: Block) -> None:
        """Start a call of a turn that is still on its way, or as soon as those before it have ended."""
        self._check()
        self._current().offer(call)

    def has_begun(self) -> bool:
        return self._turn is not None and self._turn.has_begun

    def forget(self) -> None:
        """Drop what was offered of a turn that came to nothing."""
        self._turn = None

    def written(self) -> None:
        """Note that the turn is in the transcript, with all its calls."""
        self._is_written = True

    async def run(self, calls: Sequence[Block]) -> ToolsRan:
        """Run the calls of the complete turn; each result is in the transcript once its tool has ended."""
        aborted = False
        try:
            self._check()
            await unless_aborted(self._stop, self._finish(calls))
        except Aborted:
            aborted = True
        results = tuple(self._done.get(call["id"]) or interrupted_result(call["id"]) for call in calls)
        await self.close()
        return ToolsRan(
            results=results,
            aborted=aborted or self._stop.is_set(),
            task_ended=self._context.ending is not None,
        )

    async def close(self) -> None:
        """End what still runs of a turn."""
        turn, self._turn = self._turn, None
        self._done, self._is_written = {}, False
        if turn is not None:
            await turn.abandon()

    async def _finish(self, calls: Sequence[Block]) -> None:
        await self._current().finish(calls)

    def _current(self) -> Turn:
        if self._turn is None:
            self._turn = Turn(self._tools, self._context, self._gate, self._ended, self._starts)
        return self._turn

    def _starts(self, call: Block) -> None:
        if not self._is_written:
            self._transcript.call(call)

    def _ended(self, block: Block, elapsed: float, persisted: str | None) -> None:
        seen = self._context.read_state.noted_by(block["tool_use_id"])
        known = None if seen is None else {"path": seen.path, "digest": seen.digest}
        self._transcript.result(block, elapsed, persisted, known)
        self._done[block["tool_use_id"]] = block
