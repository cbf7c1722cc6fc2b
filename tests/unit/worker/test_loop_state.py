"""The decisions of the loop, without anything that runs."""

from __future__ import annotations

from pathlib import Path

import pytest

import worker.loop.advance
from swarm.core.transcript import CLEARED
from swarm.errors import ModelError
from worker.loop.advance import advance, attach, kept
from worker.loop.reasons import CONTINUE_REASONS, NEXT_TURN, TERMINAL_REASONS, Terminal
from worker.loop.state import (
    Answered,
    AskModel,
    Finish,
    Limits,
    LoopState,
    ModelFailed,
    RunTools,
    StreamAborted,
    ToolsRan,
    Transition,
    first_state,
)
from worker.messages import (
    assistant_message,
    text_block,
    tool_result,
    tool_use,
    unparsed_input,
    user_message,
)
from worker.model.failures import UNSERVED, failure
from worker.prompts.texts import ANSWER_EMPTY, GO_ON_WHERE_CUT

LIMITS = Limits(turns=3)
START = first_state([user_message("go")], LIMITS)
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


def asked(step) -> LoopState:
    assert isinstance(step, AskModel)
    return step.state


def transition_of(state: LoopState) -> Transition:
    assert state.transition is not None
    return state.transition


def reason_of(state: LoopState) -> str:
    return transition_of(state).reason


def heard(step) -> LoopState:
    assert isinstance(step, RunTools)
    return step.state


@pytest.mark.parametrize("blocks", [(), (" ",), ("\n", "")])
def test_an_empty_answer_is_never_success(blocks) -> None:
    """It looks like an orderly end; taken for one, a task would be done that nobody did.

    The model is told, so that one slip costs nothing; not for ever, and nothing blank is kept.
    """
    state = START
    for _ in range(LIMITS.empty_answers):
        assert kept(state, answered(*blocks)) is None
        state = asked(advance(state, answered(*blocks)))
        assert reason_of(state) == "empty_answer"
        assert transition_of(state).said == ANSWER_EMPTY

    end = end_of(advance(state, answered(*blocks)))

    assert end.messages == (user_message("go", ANSWER_EMPTY, ANSWER_EMPTY),)
    assert end.reason == "model_error"
    assert "neither text nor a tool call" in str(end.error)


@pytest.mark.parametrize("stop_reason", ["refusal", "pause_turn", "something_new"])
def test_text_that_did_not_end_by_itself_is_not_an_end_of_the_work(stop_reason) -> None:
    end = end_of(advance(START, answered("I have almost", stop_reason=stop_reason)))

    assert end.reason == "model_error"
    assert stop_reason in str(end.error)


class TestCutOff:
    """An answer that reached its limit: once with a higher limit, then piece by piece, then no more."""

    def test_the_same_request_goes_out_once_with_a_higher_limit(self) -> None:
        cut = answered("I have almost", stop_reason="max_tokens")

        state = asked(advance(START, cut))

        assert kept(START, cut) is None
        assert (reason_of(state), state.output_limit) == ("max_output_tokens_escalate", 64_000)
        assert state.messages == START.messages
        assert state.usage == {"output_tokens": 5}

    def test_then_what_came_is_kept_and_the_model_goes_on(self) -> None:
        state = START.replace(output_limit=64_000)
        for number in range(LIMITS.output_recoveries):
            state = asked(advance(state, answered(f"part {number}", stop_reason="max_tokens")))
            assert reason_of(state) == "max_output_tokens_recovery"
            assert state.turn == 1

        end = end_of(advance(state, answered("part 3", stop_reason="max_tokens")))

        assert end.reason == "model_error"
        assert "max_tokens" in str(end.error)
        assert end.messages == (
            user_message("go"),
            assistant_message("part 0"),
            user_message(GO_ON_WHERE_CUT),
            assistant_message("part 1"),
            user_message(GO_ON_WHERE_CUT),
            assistant_message("part 2"),
            user_message(GO_ON_WHERE_CUT),
            assistant_message("part 3"),
        )

    def test_a_call_that_was_cut_is_left_out(self) -> None:
        """Its input is half of one; what was said before it stays."""
        cut = tool_use("t2", "Write", unparsed_input('{"file_path": "a'))
        state = START.replace(output_limit=64_000)

        after = asked(advance(state, answered("Writing.", cut, stop_reason="max_tokens")))

        assert after.messages[1:] == (assistant_message("Writing."), user_message(GO_ON_WHERE_CUT))

    def test_thoughts_alone_are_not_kept(self) -> None:
        thought = {"type": "thinking", "thinking": "hm", "signature": "s"}
        state = START.replace(output_limit=64_000)

        after = asked(advance(state, answered(thought, stop_reason="max_tokens")))

        assert after.messages == (user_message("go", GO_ON_WHERE_CUT),)

    def test_what_has_begun_cannot_be_taken_back(self) -> None:
        """A tool of the answer runs: the answer is the turn, and the call that was cut gets an error."""
        cut = tool_use("t2", "Write", unparsed_input('{"file_path": "a'))
        answer = answered(CALL, cut, stop_reason="max_tokens").replace(begun=True)

        step = advance(START, answer)

        assert isinstance(step, RunTools)
        assert step.calls == (CALL, cut)
        assert kept(START, answer) == answer.message

    def test_an_ordinary_turn_begins_to_count_anew(self) -> None:
        state = START.replace(output_limit=64_000)
        state = asked(advance(state, answered("part", stop_reason="max_tokens")))
        state = heard(advance(state, answered(CALL, stop_reason="tool_use")))

        after = asked(advance(state, ToolsRan(results=(RESULT,))))

        assert (after.output_limit, after.recoveries.output) == (8_000, 0)


class TestTooLong:
    """A conversation that the model cannot hold any more loses its oldest results, not its form."""

    ERROR = failure("prompt_too_long", "prompt is too long: 210000 tokens > 200000 maximum")

    @staticmethod
    def grown(turns: int):
        messages = [user_message("go")]
        for number in range(turns):
            messages.append(assistant_message(tool_use(f"t{number}", "Read", {"file_path": "a"})))
            messages.append(user_message(tool_result(f"t{number}", "x" * 1_000)))
        return first_state(messages, LIMITS)

    def test_the_oldest_results_go(self) -> None:
        state = asked(advance(self.grown(20), ModelFailed(error=self.ERROR)))

        assert reason_of(state) == "results_cleared"
        cleared = [m["content"][0]["content"] == CLEARED for m in state.messages[2::2]]
        assert cleared == [True] * len(transition_of(state).cleared) + [False] * (
            20 - len(transition_of(state).cleared)
        )
        assert 4 <= len(transition_of(state).cleared) <= 6
        assert transition_of(state).cleared[0] == "t0"

    def test_not_for_ever_and_never_the_newest(self) -> None:
        state, tries = self.grown(40), 0
        while isinstance(step := advance(state, ModelFailed(error=self.ERROR)), AskModel):
            state, tries = step.state, tries + 1

        assert tries == LIMITS.clearings
        assert end_of(step).reason == "prompt_too_long"
        assert all(m["content"][0]["content"] != CLEARED for m in state.messages[-9::2])

    def test_with_nothing_to_clear_it_ends_at_once(self) -> None:
        end = end_of(advance(self.grown(5), ModelFailed(error=self.ERROR)))

        assert (end.reason, end.error) == ("prompt_too_long", self.ERROR)

    def test_an_answer_that_filled_the_window_counts_too(self) -> None:
        state = asked(advance(self.grown(20), answered("I see", stop_reason="model_context_window_exceeded")))

        assert reason_of(state) == "results_cleared"


def test_a_spent_budget_is_an_end_of_its_own() -> None:
    error = failure("budget_spent", "2.00 of 2.00 USD are spent")

    assert end_of(advance(START, ModelFailed(error=error))).reason == "budget_spent"


def test_the_same_failure_again_and_again_ends_the_loop() -> None:
    """A model that does not learn from an error would spend its turns, and the money, on it."""
    state = START.replace(limits=Limits(turns=99))
    failed = tool_result("t1", "no such file", is_error=True)
    for _ in range(4):
        state = heard(advance(state, answered(CALL, stop_reason="tool_use")))
        state = asked(advance(state, ToolsRan(results=(failed,))))
    state = heard(advance(state, answered(CALL, stop_reason="tool_use")))

    assert end_of(advance(state, ToolsRan(results=(failed,)))).reason == "repeated_failures"


@pytest.mark.parametrize("other", [RESULT, tool_result("t1", "no such folder", is_error=True)])
def test_another_outcome_in_between_counts_anew(other) -> None:
    state = START.replace(limits=Limits(turns=99))
    failed = tool_result("t1", "no such file", is_error=True)
    for result in (failed, failed, failed, failed, other, failed, failed, failed, failed):
        state = heard(advance(state, answered(CALL, stop_reason="tool_use")))
        state = asked(advance(state, ToolsRan(results=(result,))))

    assert state.failing.times == 4


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


@pytest.mark.parametrize("kind", sorted(UNSERVED))
def test_a_service_that_serves_nothing_is_no_fault_of_this_work(kind) -> None:
    """It ends like a stop: with the conversation as it is, to go on from."""
    end = end_of(advance(START, ModelFailed(error=failure(kind, "no"))))

    assert end.reason == "aborted_service"
    assert end.messages == START.messages


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("bad_request", "model_error"),
        ("prompt_too_long", "prompt_too_long"),
        ("budget_spent", "budget_spent"),
    ],
)
def test_what_the_service_says_of_this_request_or_its_price_is_told_apart(kind, reason) -> None:
    assert end_of(advance(START, ModelFailed(error=failure(kind, "no")))).reason == reason


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
    assert "state.replace(" not in Path(worker.loop.advance.__file__).read_text()
    with pytest.raises(TypeError):
        LoopState(messages=(), turn=1)  # type: ignore[call-arg]


def test_every_reason_is_known() -> None:
    assert CONTINUE_REASONS == (
        "next_turn",
        "max_output_tokens_escalate",
        "max_output_tokens_recovery",
        "results_cleared",
        "empty_answer",
    )
    assert set(TERMINAL_REASONS) == {
        "completed",
        "task_ended",
        "max_turns",
        "model_error",
        "prompt_too_long",
        "repeated_failures",
        "budget_spent",
        "aborted_service",
        "aborted_streaming",
        "aborted_tools",
    }
