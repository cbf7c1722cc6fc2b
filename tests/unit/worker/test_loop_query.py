"""The loop runs with a fake model and fake tools: no file system, no clock."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import pytest

from swarm.errors import ModelError
from tests.support.models import FakeModel
from worker.loop.abort import Aborted, unless_aborted
from worker.loop.query import AssistantTurn, LoopDeps, LoopEnded, RequestStarted, run_loop
from worker.loop.state import Limits, ToolsRan, first_state
from worker.messages import assistant_message, text_block, tool_result, tool_use, user_message
from worker.model.port import BlockDone, ModelRequest, Retrying, TextDelta, TurnDone

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
        self.offered = []
        self.forgotten = 0
        self.on_offer = lambda: None

    async def answer_all(self, calls):
        return ToolsRan(results=tuple(tool_result(call["id"], f"ran {call['name']}") for call in calls))

    def offer(self, call):
        self.offered.append(call["id"])
        self.on_offer()

    def has_begun(self):
        return bool(self.offered)

    def forget(self):
        self.forgotten += 1
        assert not self.offered

    async def run(self, calls):
        self.ran.append([call["id"] for call in calls])
        self.offered = []
        return await self.tools(calls)

    async def gather(self):
        taken, self.attachments = self.attachments, []
        return taken

    def request(self, messages, max_tokens):
        return ModelRequest(
            model="fake", system=("be good",), messages=messages, tools=[], max_tokens=max_tokens
        )

    def deps(self):
        return LoopDeps(
            model=self.model,
            make_request=self.request,
            tools=self,
            gather_attachments=self.gather,
            abort=self.abort,
        )

    async def play(self):
        state = first_state([user_message("go")], Limits(turns=self.turns_max))
        events = [event async for event in run_loop(state, self.deps())]
        assert [isinstance(event, LoopEnded) for event in events].count(True) == 1
        assert isinstance(events[-1], LoopEnded)
        return events, events[-1].terminal


async def test_calls_are_run_until_the_model_is_done() -> None:
    world = World(FakeModel(assistant_message("Looking.", CALL_1, CALL_2), "All done."))

    events, terminal = await world.play()

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

    await world.play()

    first, second = world.model.requests
    assert first.messages == [user_message("go", "early mail")]
    assert second.messages[-1] == user_message(tool_result("t1", "ran Bash"), "mail")


async def test_a_model_error_ends_the_loop_and_is_kept() -> None:
    error = ModelError("usage limit reached")
    world = World(FakeModel(assistant_message(CALL_1), error))

    _, terminal = await world.play()

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

    events, terminal = await World(Silent()).play()

    assert terminal.reason == "model_error"
    assert "broke off" in str(terminal.error)
    assert TextDelta(text="I will") in events


async def test_a_model_that_never_stops_calling_is_ended_by_the_turn_limit() -> None:
    world = World(FakeModel(*(assistant_message(CALL_1) for _ in range(9))), turns_max=4)

    _, terminal = await world.play()

    assert terminal.reason == "max_turns"
    assert len(world.model.requests) == 4


async def test_a_stop_while_the_model_speaks_drops_its_request() -> None:
    world = World(FakeModel(asyncio.Event()))
    running = asyncio.create_task(world.play())
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

    _, terminal = await world.play()

    assert terminal.reason == "aborted_streaming"
    assert world.model.requests == []
    assert world.attachments == [text_block("mail")]


async def test_a_stop_while_tools_run_asks_nothing_more() -> None:
    world = World(FakeModel(assistant_message(CALL_1)))

    async def stopped(calls):
        world.abort.set()
        return ToolsRan(results=(tool_result("t1", "cut", is_error=True),), aborted=True)

    world.tools = stopped

    _, terminal = await world.play()

    assert terminal.reason == "aborted_tools"
    assert terminal.messages[-1] == user_message(tool_result("t1", "cut", is_error=True))


async def test_the_end_of_the_task_ends_the_loop_after_the_whole_batch() -> None:
    world = World(FakeModel(assistant_message("Finished.", CALL_1, CALL_2)))

    async def ends_it(calls):
        return ToolsRan(results=(await world.answer_all(calls)).results, task_ended=True)

    world.tools = ends_it

    _, terminal = await world.play()

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
    async for event in run_loop(first_state([user_message("go")], Limits(turns=3)), world.deps()):
        if isinstance(event, AssistantTurn):
            event.message["content"].clear()

    assert model.requests[1].messages[1] == assistant_message("Looking.", CALL_1)


async def test_a_fault_of_the_harness_is_not_hidden() -> None:
    world = World(FakeModel(assistant_message(CALL_1)))

    async def broken(calls):
        raise RuntimeError("disk on fire")

    world.tools = broken

    with pytest.raises(RuntimeError, match="on fire"):
        await world.play()


async def test_leaving_the_loop_early_closes_the_model_stream() -> None:
    model = FakeModel(assistant_message(CALL_1))
    async with aclosing(
        run_loop(first_state([user_message("go")], Limits(turns=3)), World(model).deps())
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

    _, terminal = await World(Chatty()).play()

    assert terminal.text == "one"


class Streaming:
    """Yields what a test says; an exception among it is raised, an event is waited for."""

    name = "streaming"

    def __init__(self, *events):
        self.events = events
        self.requests = []
        self.closed = 0

    async def stream(self, request):
        self.requests.append(request)
        if len(self.requests) > 1:
            yield TurnDone(message=assistant_message("Done."), stop_reason="end_turn", usage={})
            return
        try:
            for event in self.events:
                if isinstance(event, Exception):
                    raise event
                if isinstance(event, asyncio.Event):
                    await event.wait()
                    continue
                yield event
        finally:
            self.closed += 1

    def unfinished(self, messages):
        return None

    def may_go_on(self, messages):
        return True


THOUGHT = {"type": "thinking", "thinking": "look first", "signature": "sig"}
RETRY = Retrying(why="overloaded", tried=1, wait_seconds=0.0)


async def test_a_call_is_offered_when_its_block_is_complete() -> None:
    turn = assistant_message("Looking.", CALL_1, CALL_2)
    model = Streaming(
        BlockDone(block=text_block("Looking.")),
        BlockDone(block=CALL_1),
        BlockDone(block=CALL_2),
        TurnDone(message=turn, stop_reason="tool_use", usage={}),
    )
    world = World(model)
    offered = []
    world.on_offer = lambda: offered.append(world.offered[-1])

    _, terminal = await world.play()

    assert terminal.reason == "completed"
    assert offered == ["t1", "t2"]
    assert world.ran == [["t1", "t2"]]


@pytest.mark.parametrize("end", [RETRY, ModelError("overloaded"), None])
async def test_an_answer_that_breaks_off_after_a_call_began_is_the_turn(end) -> None:
    """Asked for again it would call the same tool again, whose work is done or on its way."""
    begun = [BlockDone(block=THOUGHT), BlockDone(block=CALL_1), TextDelta(text="And th")]
    model = Streaming(*begun, *([] if end is None else [end]), BlockDone(block=CALL_2))
    if end is None:
        model = Streaming(*begun)
    world = World(model)

    events, terminal = await world.play()

    assert terminal.reason == "completed"
    assert world.ran == [["t1"]]
    assert model.closed == 1
    assert model.requests[1].messages[1] == assistant_message(THOUGHT, CALL_1)
    told = next(event for event in events if isinstance(event, AssistantTurn))
    assert told.message == assistant_message(THOUGHT, CALL_1)


async def test_an_answer_that_breaks_off_before_that_is_void() -> None:
    turn = assistant_message("Looking again.")
    model = Streaming(
        BlockDone(block=text_block("Looking.")),
        RETRY,
        BlockDone(block=text_block("Looking again.")),
        TurnDone(message=turn, stop_reason="end_turn", usage={}),
    )
    world = World(model)

    events, terminal = await world.play()

    assert terminal.messages[-1] == turn
    assert RETRY in events
    assert world.forgotten == 1


async def test_a_stop_after_a_call_began_leaves_a_turn_with_results() -> None:
    world = World(Streaming(BlockDone(block=CALL_1), asyncio.Event(), BlockDone(block=CALL_2)))
    world.on_offer = world.abort.set

    async def stopped(calls):
        return ToolsRan(results=(tool_result("t1", "cut", is_error=True),), aborted=True)

    world.tools = stopped

    _, terminal = await world.play()

    assert terminal.reason == "aborted_tools"
    assert terminal.messages[1:] == (
        assistant_message(CALL_1),
        user_message(tool_result("t1", "cut", is_error=True)),
    )


async def test_what_was_cut_off_is_asked_for_with_a_higher_limit() -> None:
    """The consumer never sees the answer that is forgotten: it would write it down."""
    cut = TurnDone(message=assistant_message("I have al"), stop_reason="max_tokens", usage={})
    model = Streaming(TextDelta(text="I have al"), cut)
    world = World(model)

    events, terminal = await world.play()

    assert terminal.reason == "completed"
    assert [request.max_tokens for request in model.requests] == [8_000, 64_000]
    assert [event.message for event in events if isinstance(event, AssistantTurn)] == [
        assistant_message("Done.")
    ]
