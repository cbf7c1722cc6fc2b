"""The decisions of the loop, without anything that runs."""

from __future__ import annotations

from pathlib import Path

import pytest

import worker.loop.state
from swarm.errors import ModelError
from worker.loop.reasons import CONTINUE_REASONS, NEXT_TURN, TERMINAL_REASONS, Terminal
from worker.loop.state import (
    Answered,
    AskModel,
    Finish,
    LoopState,
    ModelFailed,
    RunTools,
    StreamAborted,
    ToolsRan,
    advance,
    attach,
    first_state,
)
from worker.messages import assistant_message, text_block, tool_result, tool_use, user_message

START = first_state([user_message("go")], turns_max=3)
CALL = tool_use("t1", "Bash", {"command": "ls"})
RESULT = tool_result("t1", "a")


def answered(*blocks, stop_reason="end_turn"):
    return Answered(message=assistant_message(*blocks), stop_reason=stop_reason, usage={"output_tokens": 5})


def running(turn=1):
    step = advance(START.replace(turn=turn), answered(CALL, stop_reason="tool_use"))
    assert isinstance(step, RunTools)
    return step.state


def end_of(step) -> Terminal:
    assert isinstance(step, Finish)
    return step.terminal


def test_the_first_iteration_has_no_transition() -> None:
    assert START.transition is None
    assert START.turn == 1


def test_an_answer_with_text_and_no_calls_completes() -> None:
    end = end_of(advance(START, answered("Done.")))

    assert (end.reason, end.text, end.error) == ("completed", "Done.", None)
    assert end.messages[-1] == assistant_message("Done.")
    assert end.usage == {"output_tokens": 5}


def test_calls_are_run_whatever_the_stop_reason_says() -> None:
    """The presence of calls decides; a stop reason may be wrong or new."""
    step = advance(START, answered("Looking.", CALL, stop_reason="end_turn"))

    assert isinstance(step, RunTools)
    assert step.calls == (CALL,)


@pytest.mark.parametrize("blocks", [(), (" ",), ("\n", "")])
def test_an_empty_answer_is_never_success(blocks) -> None:
    """It looks like an orderly end; taken for one, a task would be done that nobody did."""
    end = end_of(advance(START, answered(*blocks)))

    assert end.reason == "model_error"
    assert "neither text nor a tool call" in str(end.error)


@pytest.mark.parametrize("stop_reason", ["max_tokens", "refusal", "pause_turn"])
def test_text_that_was_cut_off_is_not_an_end_of_the_work(stop_reason) -> None:
    end = end_of(advance(START, answered("I have almost", stop_reason=stop_reason)))

    assert end.reason == "model_error"
    assert stop_reason in str(end.error)


def test_results_lead_to_the_next_turn() -> None:
    step = advance(running(), ToolsRan(results=(RESULT,)))

    assert isinstance(step, AskModel)
    assert step.state.turn == 2
    assert step.state.transition is not None
    assert step.state.transition.reason == NEXT_TURN
    assert step.state.messages[-1] == user_message(RESULT)


def test_the_turn_limit_ends_the_loop_with_valid_messages() -> None:
    end = end_of(advance(running(turn=3), ToolsRan(results=(RESULT,))))

    assert end.reason == "max_turns"
    assert end.messages[-1] == user_message(RESULT)
    assert end.turns == 3


@pytest.mark.parametrize(
    ("ran", "reason"),
    [
        (ToolsRan(results=(RESULT,), aborted=True), "aborted_tools"),
        (ToolsRan(results=(RESULT,), task_ended=True), "task_ended"),
        (ToolsRan(results=(RESULT,), task_ended=True, aborted=True), "task_ended"),
    ],
)
def test_no_model_is_asked_after_a_stop_or_the_end_of_the_task(ran, reason) -> None:
    """When both come together the task has been ended already: that is what counts."""
    assert end_of(advance(running(), ran)).reason == reason


def test_a_model_that_fails_ends_the_loop_with_its_error() -> None:
    error = ModelError("overloaded")

    end = end_of(advance(START, ModelFailed(error=error)))

    assert end.reason == "model_error"
    assert end.error is error
    assert end.messages == START.messages


def test_a_stop_while_the_model_speaks_keeps_nothing_of_it() -> None:
    end = end_of(advance(START, StreamAborted()))

    assert end.reason == "aborted_streaming"
    assert end.messages == START.messages


def test_attached_text_follows_the_results() -> None:
    after = advance(running(), ToolsRan(results=(RESULT,)))
    assert isinstance(after, AskModel)

    state = attach(after.state, [text_block("mail")])

    assert state.messages[-1] == user_message(RESULT, "mail")
    assert (state.turn, state.transition) == (after.state.turn, after.state.transition)
    assert attach(state, []) is state


def test_usage_adds_up_over_turns() -> None:
    after = advance(running(), ToolsRan(results=(RESULT,)))
    assert isinstance(after, AskModel)

    end = end_of(advance(after.state, answered("Done.")))

    assert end.usage == {"output_tokens": 10}


def test_state_cannot_be_changed_in_place() -> None:
    """A field changed on the way would make the path that was taken impossible to tell."""
    with pytest.raises(AttributeError):
        START.turn = 2  # type: ignore[misc]


def test_states_are_always_built_in_full() -> None:
    """A copy with changes would carry a new field over at a site that never thought of it."""
    assert ".replace(messages" not in Path(worker.loop.state.__file__).read_text()
    with pytest.raises(TypeError):
        LoopState(messages=(), turn=1)  # type: ignore[call-arg]


def test_every_reason_is_known() -> None:
    assert CONTINUE_REASONS == ("next_turn",)
    assert set(TERMINAL_REASONS) == {
        "completed",
        "task_ended",
        "max_turns",
        "model_error",
        "aborted_streaming",
        "aborted_tools",
    }
