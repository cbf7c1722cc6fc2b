"""The executor: whatever happens at whatever stage, each call has exactly one result, in its place."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from swarm.core.transcript import INTERRUPTED, NOT_STARTED, is_interrupted
from swarm.errors import StateError
from swarm.permissions.calls import Call, Decision, PathUse
from swarm.testing.wait import eventually
from tests.support.tools import ToolBench
from tests.unit.tools.probe import Probe, ProbeInput, assert_one_result_each, texts
from worker.tools.contract import Tool, ToolContext, ToolInput, ToolOutput
from worker.tools.current import current_call

STAGES = {
    "concurrency_safe": "fine",  # runs alone
    "read_only": "broke at read_only",
    "path_uses": "broke at path_uses",
    "check": "broke at check",
    "refused": "That makes no sense.",
    "run": "broke at run",
    "nonsense": "its output is a str",
    "cancelled inside": "cancelled from inside",
}


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("looks", [True, False])
async def test_a_fault_at_any_stage_is_one_result(
    bench: ToolBench, probe: Probe, stage: str, looks: bool
) -> None:
    """And the calls beside it and after it run as if nothing had happened."""
    calls = [
        bench.use("Probe", label="before", looks=looks),
        bench.use("Probe", label="fine", fail_at=stage, looks=looks),
        bench.use("Probe", label="after", looks=looks),
    ]

    results = await bench.turn(*calls)

    assert [block["tool_use_id"] for block in results] == [call["id"] for call in calls]
    assert texts(results)[0] == "before"
    assert STAGES[stage] in texts(results)[1]
    assert texts(results)[2] == "after"
    assert [block["is_error"] for block in results] == [False, stage != "concurrency_safe", False]
    assert_one_result_each(bench, calls)


async def test_unknown_tools_are_named(bench: ToolBench) -> None:
    text = await bench.error("Magic", wand=1)

    assert text.startswith("There is no tool 'Magic'; the tools are Bash, Edit, Glob")


@pytest.mark.parametrize("given", [None, "text", ["a"], 7])
async def test_input_that_is_no_object(bench: ToolBench, given: object) -> None:
    call = {**bench.use("Read"), "input": given}

    (block,) = await bench.turn(call)

    assert block["is_error"]
    assert "expects an object" in block["content"]


@pytest.mark.parametrize("missing", ["name", "input"])
async def test_a_call_that_was_cut_off(bench: ToolBench, missing: str) -> None:
    call = {key: value for key, value in bench.use("Read", file_path="x").items() if key != missing}

    (block,) = await bench.turn(call)

    assert block["is_error"]


@pytest.mark.parametrize(
    ("decision", "told"),
    [
        (
            Decision(behavior="deny", reason="A rule forbids it.", why="rule", rule="Bash(rm:*)"),
            "(rule Bash(rm:*))",
        ),
        (Decision(behavior="ask", reason="No rule allows it.", why="no_rule"), "No rule allows it."),
    ],
)
async def test_a_denied_call_says_by_what_and_does_not_run(
    bench: ToolBench, probe: Probe, decision: Decision, told: str
) -> None:
    """Only an explicit yes lets a call run; the model is told not to repeat it."""

    async def gate(tool: object, given: object, call: Call) -> Decision:
        return decision

    bench.gate = gate
    text = await bench.error("Probe", label="a")

    assert text.startswith("Probe was not permitted: ")
    assert told in text
    assert "will be refused again" in text
    assert probe.log == []


async def test_a_gate_that_fails_has_not_allowed_anything(bench: ToolBench, probe: Probe) -> None:
    async def gate(tool: object, given: object, call: Call) -> Decision:
        raise StateError("rules are unreadable", code="corrupt_state")

    bench.gate = gate

    assert "the permission check itself failed (rules are unreadable)" in await bench.error("Probe")
    assert probe.log == []


async def test_what_the_gate_takes_is_no_time_of_the_tool(
    bench: ToolBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A person may think about a call for minutes."""
    now = [5.0]
    monkeypatch.setattr("worker.tools.executor.time", SimpleNamespace(monotonic=lambda: now[0]))
    allows = bench.gate

    async def gate(tool: Tool[Any], given: ToolInput, call: Call) -> Decision:
        now[0] += 100.0
        return await allows(tool, given, call)

    bench.gate = gate
    await bench.call("TaskList")

    assert [elapsed for _, elapsed, _ in bench.heard] == [0.0]


async def test_the_gate_sees_the_call(bench: ToolBench) -> None:
    seen: list[Call] = []

    async def gate(tool: object, given: object, call: Call) -> Decision:
        seen.append(call)
        return Decision(behavior="deny", reason="No.", why="rule")

    bench.gate = gate
    (bench.workspace / "a").write_text("x")
    await bench.call("Read", file_path="a")
    await bench.call("Write", file_path="sub/b", content="")
    await bench.call("TaskList")

    read, write, tasks = seen
    assert (read.tool, read.input, read.read_only, read.edit) == ("Read", {"file_path": "a"}, True, False)
    assert read.paths == (PathUse(path=f"{bench.workspace}/a", write=False),)
    assert (write.edit, write.read_only) == (True, False)
    assert write.paths == (PathUse(path=f"{bench.workspace}/sub/b", write=True),)
    assert tasks.team_tool


async def test_calls_that_only_look_run_together_and_others_alone(bench: ToolBench, probe: Probe) -> None:
    """Read, Read, write, Read: three batches; results keep the order of the calls."""
    calls = [bench.use("Probe", label=label, looks=label.islower()) for label in "abCde"]

    results = await bench.turn(*calls)

    assert texts(results) == list("abCde")
    assert probe.log[:2] == ["+a", "+b"]
    assert set(probe.log[2:4]) == {"-a", "-b"}
    assert probe.log[4:6] == ["+C", "-C"]
    assert set(probe.log[6:8]) == {"+d", "+e"}


async def test_no_more_than_the_limit_run_together(bench: ToolBench, probe: Probe) -> None:
    await bench.turn(*(bench.use("Probe", label=str(n)) for n in range(25)))

    assert probe.most_running == bench.team.settings.tool_concurrency_max == 10


async def test_results_keep_the_order_of_the_calls(bench: ToolBench) -> None:
    """Whatever order they end in."""
    gates = {name: asyncio.Event() for name in "abc"}

    class Waiting(Probe):
        name = "Waiting"

        async def run(self, given: ProbeInput, context: ToolContext) -> ToolOutput:
            await gates[given.label].wait()
            return ToolOutput(text=given.label)

    turn = asyncio.ensure_future(
        bench.turn(*(bench.use("Waiting", label=n) for n in "abc"), tools=[Waiting(bench.team.settings)])
    )
    for count, name in enumerate("cab", start=1):
        gates[name].set()
        await bench.heard_results(count)

    assert texts(await turn) == ["a", "b", "c"]
    assert [block["content"] for block, _, _ in bench.heard] == ["c", "a", "b"]


async def test_each_result_is_told_as_its_call_ends(bench: ToolBench, probe: Probe) -> None:
    """A crash after the first call must not lose that it ran."""
    calls = [
        bench.use("Probe", label="a", looks=False),
        bench.use("Probe", label="b", looks=False, waits=True),
    ]
    turn = asyncio.ensure_future(bench.turn(*calls))
    await eventually(lambda: probe.running)
    assert [block["content"] for block, _, _ in bench.heard] == ["a"]
    probe.go.set()
    await turn

    assert [block["content"] for block, _, _ in bench.heard] == ["a", "b"]
    assert all(elapsed >= 0 for _, elapsed, _ in bench.heard)


@pytest.mark.parametrize("looks", [True, False])
async def test_cancelling_leaves_one_result_each(bench: ToolBench, probe: Probe, looks: bool) -> None:
    """What ended keeps its result, what ran is interrupted, what waited was never started."""
    calls = [
        bench.use("Probe", label="done", looks=False),
        bench.use("Probe", label="b", looks=looks, waits=True),
        bench.use("Probe", label="c", looks=looks, waits=True),
        bench.use("Probe", label="last", looks=False),
    ]
    turn = asyncio.ensure_future(bench.turn(*calls))
    await eventually(lambda: bench.heard and probe.running == 1 + looks)
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn

    assert_one_result_each(bench, calls)
    told = {block["tool_use_id"]: block["content"] for block, _, _ in bench.heard}
    expected = ["done", INTERRUPTED, INTERRUPTED if looks else NOT_STARTED, NOT_STARTED]
    assert [told[call["id"]] for call in calls] == expected
    assert probe.running == 0


@pytest.mark.parametrize("words", [INTERRUPTED, NOT_STARTED])
async def test_a_tool_that_fails_with_our_own_words_was_not_cut_off(
    bench: ToolBench, probe: Probe, words: str
) -> None:
    """Taken for a mark, its failure would be forgotten and the call made again."""
    (block,) = await bench.turn(bench.use("Probe", label=words, fails=True))

    assert block["is_error"]
    assert words in block["content"]
    assert not is_interrupted(block)


@pytest.mark.parametrize("steps", range(1, 12))
async def test_cancelling_at_any_step_leaves_one_result_each(
    bench: ToolBench, probe: Probe, steps: int
) -> None:
    calls = [bench.use("Probe", label=label, looks=label.islower()) for label in "abCdeF"]
    turn = asyncio.ensure_future(bench.turn(*calls))
    for _ in range(steps):
        await asyncio.sleep(0)
    turn.cancel()
    await asyncio.wait({turn})

    assert_one_result_each(bench, calls)


async def test_a_fault_of_the_listener_is_not_hidden(bench: ToolBench, probe: Probe) -> None:
    """The transcript could not be written: a fault of the harness, which the model cannot act on."""

    def broken(*heard: object) -> None:
        raise StateError("disk full", code="io_error")

    bench._hear = broken  # type: ignore[method-assign,assignment]
    with pytest.raises(StateError, match="disk full"):
        await bench.turn(bench.use("Probe"), bench.use("Probe"))


async def test_a_tool_knows_the_id_of_its_call(bench: ToolBench) -> None:
    seen: list[str] = []

    class Knowing(Probe):
        name = "Knowing"

        async def run(self, given: ProbeInput, context: ToolContext) -> ToolOutput:
            await asyncio.sleep(0)
            seen.append(current_call.get())
            return ToolOutput(text="")

    calls = [bench.use("Knowing"), bench.use("Knowing"), bench.use("Knowing", looks=False)]
    await bench.turn(*calls, tools=[Knowing(bench.team.settings)])

    assert seen == [call["id"] for call in calls]
    assert current_call.get("none") == "none"


async def test_touched_files_are_collected(bench: ToolBench, probe: Probe) -> None:
    await bench.turn(bench.use("Probe", label="a"), bench.use("Probe", label="b", fail_at="run"))

    assert bench.context.touched == {"/a"}


async def test_error_texts_are_bounded(bench: ToolBench) -> None:
    assert len(await bench.error("x" * 10_000)) < 2_100


async def test_repeated_ids_have_one_result_each(bench: ToolBench, probe: Probe) -> None:
    first, second = bench.use("Probe", label="a"), bench.use("Probe", label="b")

    results = await bench.turn(first, {**second, "id": first["id"]})

    assert texts(results) == ["a", "b"]
