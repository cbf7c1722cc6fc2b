"""The loop runs with a fake model and fake tools: no file system, no clock."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import pytest

from swarm.errors import ModelError
from tests.support.models import FakeModel
from worker.loop.abort import Aborted, unless_aborted
from worker.loop.query import AssistantTurn, LoopDeps, LoopEnded, RequestStarted, run_loop
from worker.loop.state import ToolsRan, first_state
from worker.messages import assistant_message, text_block, tool_result, tool_use, user_message
from worker.model.port import ModelRequest, TextDelta, TurnDone

CALL_1 = tool_use("t1", "Bash", {"command": "ls"})
CALL_2 = tool_use("t2", "Read", {"file_path": "a"})


class World:
    """The loop's surroundings: what the tools give and what is attached."""

    def __init__(self, model, *, turns_max=9):
        self.model = model
        self.turns_max = turns_max
        self.abort = asyncio.Event()
        self.ran = []
        self.attachments = []
        self.tools = self.answer_all

    async def answer_all(self, calls):
        return ToolsRan(results=tuple(tool_result(call["id"], f"ran {call['name']}") for call in calls))

    async def run_tools(self, calls):
        self.ran.append([call["id"] for call in calls])
        return await self.tools(calls)

    async def gather(self):
        taken, self.attachments = self.attachments, []
        return taken

    def request(self, messages):
        return ModelRequest(model="fake", system=("be good",), messages=messages, tools=[], max_tokens=100)

    def deps(self):
        return LoopDeps(
            model=self.model,
            make_request=self.request,
            run_tools=self.run_tools,
            gather_attachments=self.gather,
            abort=self.abort,
        )

    async def run(self):
        state = first_state([user_message("go")], turns_max=self.turns_max)
        events = [event async for event in run_loop(state, self.deps())]
        assert [isinstance(event, LoopEnded) for event in events].count(True) == 1
        assert isinstance(events[-1], LoopEnded)
        return events, events[-1].terminal


async def test_calls_are_run_until_the_model_is_done() -> None:
    world = World(FakeModel(assistant_message("Looking.", CALL_1, CALL_2), "All done."))

    events, terminal = await world.run()

    assert terminal.reason == "completed"
    assert terminal.text == "All done."
    assert world.ran == [["t1", "t2"]]
    assert len(world.model.requests) == 2
    assert world.model.requests[1].messages[-1] == user_message(
        tool_result("t1", "ran Bash"), tool_result("t2", "ran Read")
    )
    started = [event for event in events if isinstance(event, RequestStarted)]
    assert [(one.turn, one.transition and one.transition.reason) for one in started] == [
        (1, None),
        (2, "next_turn"),
    ]


async def test_what_is_attached_is_in_the_very_next_request_and_in_no_other() -> None:
    """Mail waits for no turn of the sender's choosing: it is read at the next tool boundary."""
    world = World(FakeModel(assistant_message(CALL_1), "Done."))

    async def mail_comes_meanwhile(calls):
        world.attachments.append(text_block("mail"))
        return await world.answer_all(calls)

    world.tools = mail_comes_meanwhile
    world.attachments.append(text_block("early mail"))

    await world.run()

    first, second = world.model.requests
    assert first.messages == [user_message("go", "early mail")]
    assert second.messages[-1] == user_message(tool_result("t1", "ran Bash"), "mail")


async def test_a_model_error_ends_the_loop_and_is_kept() -> None:
    error = ModelError("usage limit reached")
    world = World(FakeModel(assistant_message(CALL_1), error))

    _, terminal = await world.run()

    assert (terminal.reason, terminal.error) == ("model_error", error)


async def test_a_stream_that_just_ends_is_a_model_error() -> None:
    class Silent:
        name = "silent"

        async def stream(self, request):
            yield TextDelta(text="I will")

        def unfinished(self, messages):
            return None

        def may_go_on(self, messages):
            return True

    events, terminal = await World(Silent()).run()

    assert terminal.reason == "model_error"
    assert "broke off" in str(terminal.error)
    assert TextDelta(text="I will") in events


async def test_a_model_that_never_stops_calling_is_ended_by_the_turn_limit() -> None:
    world = World(FakeModel(*(assistant_message(CALL_1) for _ in range(9))), turns_max=4)

    _, terminal = await world.run()

    assert terminal.reason == "max_turns"
    assert len(world.model.requests) == 4


async def test_a_stop_while_the_model_speaks_drops_its_request() -> None:
    world = World(FakeModel(asyncio.Event()))
    running = asyncio.create_task(world.run())
    await world.model.asked.wait()

    world.abort.set()
    _, terminal = await running

    assert terminal.reason == "aborted_streaming"
    assert world.model.closed == 1
    assert world.ran == []


async def test_a_stop_before_the_first_request_asks_nothing_and_reads_no_mail() -> None:
    world = World(FakeModel("never"))
    world.attachments.append(text_block("mail"))
    world.abort.set()

    _, terminal = await world.run()

    assert terminal.reason == "aborted_streaming"
    assert world.model.requests == []
    assert world.attachments == [text_block("mail")]


async def test_a_stop_while_tools_run_asks_nothing_more() -> None:
    world = World(FakeModel(assistant_message(CALL_1)))

    async def stopped(calls):
        world.abort.set()
        return ToolsRan(results=(tool_result("t1", "cut", is_error=True),), aborted=True)

    world.tools = stopped

    _, terminal = await world.run()

    assert terminal.reason == "aborted_tools"
    assert terminal.messages[-1] == user_message(tool_result("t1", "cut", is_error=True))


async def test_the_end_of_the_task_ends_the_loop_after_the_whole_batch() -> None:
    world = World(FakeModel(assistant_message("Finished.", CALL_1, CALL_2)))

    async def ends_it(calls):
        return ToolsRan(results=(await world.answer_all(calls)).results, task_ended=True)

    world.tools = ends_it

    _, terminal = await world.run()

    assert (terminal.reason, terminal.text) == ("task_ended", "Finished.")
    assert len(terminal.messages[-1]["content"]) == 2


async def test_a_consumer_cannot_change_what_is_sent() -> None:
    """Views shorten and decorate what they show; the conversation must not notice."""
    model = FakeModel(assistant_message("Looking.", tool_use("t1", "Bash", {"command": "ls"})), "Done.")
    world = World(model)

    async def scribbling_tools(calls):
        calls[0]["input"]["command"] = "rm -rf /"
        return await world.answer_all(calls)

    world.tools = scribbling_tools
    async for event in run_loop(first_state([user_message("go")], turns_max=3), world.deps()):
        if isinstance(event, AssistantTurn):
            event.message["content"].clear()

    assert model.requests[1].messages[1] == assistant_message("Looking.", CALL_1)


async def test_a_fault_of_the_harness_is_not_hidden() -> None:
    world = World(FakeModel(assistant_message(CALL_1)))

    async def broken(calls):
        raise RuntimeError("disk on fire")

    world.tools = broken

    with pytest.raises(RuntimeError, match="on fire"):
        await world.run()


async def test_leaving_the_loop_early_closes_the_model_stream() -> None:
    model = FakeModel(assistant_message(CALL_1))
    async with aclosing(
        run_loop(first_state([user_message("go")], turns_max=3), World(model).deps())
    ) as events:
        async for event in events:
            if isinstance(event, AssistantTurn):
                break

    assert model.closed == 1


async def test_cancelling_the_loop_ends_the_work_it_waits_for() -> None:
    ended = asyncio.Event()
    started = asyncio.Event()

    async def work():
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    waiting = asyncio.create_task(unless_aborted(asyncio.Event(), work()))
    await started.wait()
    waiting.cancel()

    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert ended.is_set()


async def test_work_that_is_done_counts_even_if_the_stop_came_with_it() -> None:
    """A command that has run must not be told as interrupted: it would be run again."""
    abort = asyncio.Event()

    async def work():
        abort.set()
        return "done"

    assert await unless_aborted(abort, work()) == "done"
    with pytest.raises(Aborted):
        await unless_aborted(abort, asyncio.Event().wait())


async def test_only_the_first_complete_turn_of_a_stream_counts() -> None:
    class Chatty:
        name = "chatty"

        async def stream(self, request):
            for text in ("one", "two"):
                yield TurnDone(message=assistant_message(text), stop_reason="end_turn", usage={})

        def unfinished(self, messages):
            return None

        def may_go_on(self, messages):
            return True

    _, terminal = await World(Chatty()).run()

    assert terminal.text == "one"
