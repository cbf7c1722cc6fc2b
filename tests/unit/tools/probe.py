"""A tool that does as it is told, to see what the executor makes of it."""

from __future__ import annotations

import asyncio

from pydantic import Field

from swarm.permissions.calls import PathUse
from swarm.settings import Settings
from tests.support.tools import ToolBench
from worker.messages import Block
from worker.tools.contract import Tool, ToolContext, ToolInput, ToolOutput


class ProbeInput(ToolInput):
    label: str = ""
    looks: bool = True
    fail_at: str = ""
    size: int = Field(0, ge=0)
    waits: bool = False
    fails: bool = False


class Probe(Tool[ProbeInput]):
    """Does what its input says, and notes when it starts and ends."""

    name = "Probe"
    Input = ProbeInput

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.log: list[str] = []
        self.running = 0
        self.most_running = 0
        self.go = asyncio.Event()

    def describe(self, settings: Settings) -> str:
        return "Probes."

    def concurrency_safe(self, given: ProbeInput) -> bool:
        self._fail(given, "concurrency_safe")
        return given.looks

    def read_only(self, given: ProbeInput) -> bool:
        self._fail(given, "read_only")
        return given.looks

    def path_uses(self, given: ProbeInput, context: ToolContext) -> tuple[PathUse, ...]:
        self._fail(given, "path_uses")
        return ()

    async def check(self, given: ProbeInput, context: ToolContext) -> str | None:
        self._fail(given, "check")
        return "That makes no sense." if given.fail_at == "refused" else None

    async def run(self, given: ProbeInput, context: ToolContext) -> ToolOutput:
        self.log.append(f"+{given.label}")
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        try:
            await (self.go.wait() if given.waits else asyncio.sleep(0))
            self._fail(given, "run")
            if given.fail_at == "nonsense":
                return "no output"  # type: ignore[return-value]
            if given.fail_at == "cancelled inside":
                raise asyncio.CancelledError
            return ToolOutput(
                text=given.label + "x" * given.size, is_error=given.fails, touched=(f"/{given.label}",)
            )
        finally:
            self.running -= 1
            self.log.append(f"-{given.label}")

    @staticmethod
    def _fail(given: ProbeInput, stage: str) -> None:
        if given.fail_at == stage:
            raise RuntimeError(f"broke at {stage}")


def texts(blocks: list[Block]) -> list[str]:
    return [block["content"] for block in blocks]


def assert_one_result_each(bench: ToolBench, calls: list[Block]) -> None:
    heard = [block["tool_use_id"] for block, _, _ in bench.heard]
    assert sorted(heard) == sorted(call["id"] for call in calls)
