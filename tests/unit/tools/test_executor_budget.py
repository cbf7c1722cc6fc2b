"""The results of one turn share a budget."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from swarm.testing.wait import eventually
from tests.support.tools import ToolBench
from tests.unit.tools.probe import Probe, assert_one_result_each
from worker.messages import Block


class TestBudgetOfATurn:
    """All results of one turn share a budget; the largest make room first."""

    @pytest.fixture(autouse=True)
    def small(self, bench: ToolBench, probe: Probe) -> None:
        bench.context.settings = bench.context.settings.replace(
            message_results_max_chars=10_000, preview_bytes=50
        )

    @staticmethod
    def sizes(bench: ToolBench, blocks: list[Block]) -> list[Any]:
        files = {block["tool_use_id"]: persisted for block, _, persisted in bench.heard}
        return [files[b["tool_use_id"]] is not None or len(b["content"]) for b in blocks]

    async def test_the_largest_goes_first(self, bench: ToolBench) -> None:
        results = await bench.turn(*(bench.use("Probe", size=n) for n in (3_000, 5_000, 4_000)))

        assert self.sizes(bench, results) == [3_000, True, 4_000]

    async def test_as_many_as_needed(self, bench: ToolBench) -> None:
        results = await bench.turn(*(bench.use("Probe", size=n) for n in (9_000, 9_500, 6_000, 1_000)))

        assert self.sizes(bench, results) == [True, True, 6_000, 1_000]

    async def test_held_results_are_told_in_the_order_of_the_calls(self, bench: ToolBench) -> None:
        calls = [bench.use("Probe", size=n) for n in (4_000, 9_000, 5_000)]

        await bench.turn(*calls)

        assert [block["tool_use_id"] for block, _, _ in bench.heard] == [call["id"] for call in calls]

    async def test_what_fits_stays(self, bench: ToolBench) -> None:
        results = await bench.turn(*(bench.use("Probe", size=n) for n in (3_000, 7_000)))

        assert self.sizes(bench, results) == [3_000, 7_000]

    async def test_small_results_are_told_at_once(self, bench: ToolBench, probe: Probe) -> None:
        """Only what the budget might move waits for the end of the turn."""
        calls = [
            bench.use("Probe", size=6_000, looks=False),
            bench.use("Probe", size=1_000, looks=False),
            bench.use("Probe", label="end", looks=False, waits=True),
        ]
        turn = asyncio.ensure_future(bench.turn(*calls))
        await eventually(lambda: "+end" in probe.log)
        assert [block["tool_use_id"] for block, _, _ in bench.heard] == [calls[1]["id"]]
        probe.go.set()
        await turn
        assert_one_result_each(bench, calls)

    async def test_reads_are_never_moved(self, bench: ToolBench) -> None:
        """The model would only have to read them again."""
        (bench.workspace / "a").write_text("y\n" * 1_500)

        results = await bench.turn(bench.use("Read", file_path="a"), bench.use("Probe", size=8_000))

        assert self.sizes(bench, results) == [9_392, True]

    async def test_held_results_survive_a_cancellation(self, bench: ToolBench, probe: Probe) -> None:
        calls = [bench.use("Probe", size=6_000, looks=False), bench.use("Probe", looks=False, waits=True)]
        turn = asyncio.ensure_future(bench.turn(*calls))
        await eventually(lambda: probe.log.count("+") == 2)
        turn.cancel()
        await asyncio.wait({turn})

        assert_one_result_each(bench, calls)
        assert bench.heard[0][0]["content"] == "x" * 6_000
