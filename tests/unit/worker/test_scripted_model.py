"""The scripted model plays a script against real results and notices when they are not as it says."""

from __future__ import annotations

import pytest

from swarm.teamfile.model import ScriptTurn
from worker.messages import assistant_message, interrupted_result, tool_result, tool_uses, user_message
from worker.model.port import ModelRequest, TurnDone
from worker.model.scripted import ScriptedModel, ScriptError

GO = user_message("go")
READ = {"calls": [{"Read": {"file_path": "a"}}]}
TWO_CALLS = {"say": "Both.", "calls": [{"Bash": {"command": "false"}}, {"Read": {"file_path": "a"}}]}


def script(*turns, **options) -> ScriptedModel:
    return ScriptedModel([ScriptTurn.model_validate(turn) for turn in turns], **options)


async def play(model: ScriptedModel, messages) -> TurnDone:
    request = ModelRequest(model="scripted", system=(), messages=messages, tools=[], max_tokens=1)
    events = [event async for event in model.stream(request)]
    assert isinstance(events[-1], TurnDone)
    return events[-1]


CUT, NOT_STARTED = "cut off", "not started"


def answer(call, text: str):
    if text in (CUT, NOT_STARTED):
        return interrupted_result(call["id"], started=text == CUT)
    return tool_result(call["id"], text, is_error=text.startswith("error"))


async def after(model: ScriptedModel, messages, *results: str):
    """Play a turn and answer its calls; a result that begins with `error` is one."""
    turn = await play(model, messages)
    calls = tool_uses(turn.message)
    answers = [answer(call, text) for call, text in zip(calls, results, strict=True)]
    return [*messages, turn.message, user_message(*answers)]


async def asked(model: ScriptedModel, messages) -> list[tuple[str, dict]]:
    """Return what it calls next."""
    return [(call["name"], call["input"]) for call in tool_uses((await play(model, messages)).message)]


async def test_a_turn_is_what_it_says_and_what_it_calls() -> None:
    turn = await play(script({"say": "Looking.", **READ}), [GO])

    said, call = turn.message["content"]
    assert said == {"type": "text", "text": "Looking."}
    assert (call["name"], call["input"]) == ("Read", {"file_path": "a"})
    assert turn.stop_reason == "tool_use"


async def test_a_turn_without_calls_ends_the_work() -> None:
    turn = await play(script({"say": "Done."}), [GO])

    assert (turn.message, turn.stop_reason) == (assistant_message("Done."), "end_turn")


async def test_the_place_in_the_script_is_counted_from_the_messages() -> None:
    """A model of another process, after a restart, goes on at the same step."""
    turns = [READ, {"say": "Between.", **READ}, {"say": "Done."}]
    messages = await after(script(*turns), [GO], "a")
    messages = await after(script(*turns), messages, "a")

    assert (await play(script(*turns), messages)).message == assistant_message("Done.")


async def test_ids_of_calls_are_unique_and_the_same_when_a_step_is_played_again() -> None:
    """A step that was cut off before it was written down is played again; nothing may tell the two apart."""
    model = script(TWO_CALLS, {"calls": [{"Read": {"file_path": "b"}}]}, id_prefix="toolu_x")
    messages = await after(model, [GO], "fine", "fine")

    first = [call["id"] for call in tool_uses(messages[1])]
    second = [call["id"] for call in tool_uses((await play(model, messages)).message)]

    assert len({*first, *second}) == 3
    assert all(one.startswith("toolu_x_") for one in first + second)
    assert [call["id"] for call in tool_uses((await play(model, messages)).message)] == second


async def test_an_unexpected_error_fails_the_script_and_names_step_and_tool() -> None:
    model = script(READ, TWO_CALLS, {"say": "Done."})
    messages = await after(model, [GO], "fine")
    messages = await after(model, messages, "fine", "error: no such file")

    with pytest.raises(ScriptError, match=r"step 2 \(Read\) failed: error: no such file"):
        await play(model, messages)


async def test_an_expected_error_of_any_call_of_the_turn_will_do() -> None:
    model = script({**TWO_CALLS, "expect": "error"}, {"say": "As expected."})
    messages = await after(model, [GO], "error: exit 1", "fine")

    assert (await play(model, messages)).message == assistant_message("As expected.")
    assert model.unfinished([*messages, assistant_message("As expected.")]) is None


async def test_an_expected_error_that_does_not_come_fails_the_script() -> None:
    """A script that shows how a denial is handled must not pass when nothing is denied any more."""
    model = script({**TWO_CALLS, "expect": "error"}, {"say": "As expected."})
    messages = await after(model, [GO], "fine", "fine")

    with pytest.raises(ScriptError, match=r"step 1 \(Bash, Read\) was expected to fail"):
        await play(model, messages)


async def test_a_long_error_is_shown_short_and_on_one_line() -> None:
    model = script(READ, {"say": "Done."})
    messages = await after(model, [GO], "error:\n" + "x" * 5000)

    with pytest.raises(ScriptError) as caught:
        await play(model, messages)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


async def test_being_asked_for_more_than_the_script_has_is_an_error() -> None:
    model = script({"say": "Done."})

    with pytest.raises(ScriptError, match="the one step of its script has been played"):
        await play(model, [GO, assistant_message("Done."), user_message("a check failed")])


async def test_a_task_without_a_script_says_so() -> None:
    with pytest.raises(ScriptError, match="no script to play"):
        await play(script(), [GO])


async def test_a_pace_for_people_who_watch_changes_nothing_else() -> None:
    turns = [{"say": "Done."}]

    assert await play(script(*turns, pace_seconds=0.001), [GO]) == await play(script(*turns), [GO])


def test_steps_that_nobody_played_are_named() -> None:
    model = script({"say": "Done."}, {"say": "And again."}, {"say": "And again."})

    assert model.unfinished([GO, assistant_message("Done.")]) == (
        "the work ended, but 2 of the script's 3 steps were not played"
    )


async def test_the_last_step_is_judged_too_when_its_call_ended_the_task() -> None:
    """Nobody asks the model again after that, so the error would pass unseen."""
    model = script(
        {"calls": [{"Bash": {"command": "false"}}, {"TaskUpdate": {"taskId": "1", "status": "completed"}}]}
    )
    messages = await after(model, [GO], "error: exit 1", "fine")

    assert "step 1 (Bash) failed" in str(model.unfinished(messages))


def test_a_script_played_to_its_end_is_finished() -> None:
    assert script({"say": "Done."}).unfinished([GO, assistant_message("Done.")]) is None


BASH, READ_A = ("Bash", {"command": "false"}), ("Read", {"file_path": "a"})


@pytest.mark.parametrize("text", [CUT, NOT_STARTED])
async def test_what_was_cut_off_is_played_again_before_the_next_step(text: str) -> None:
    """A kill or a stop says nothing about the step; what the step said itself is not said twice."""
    model = script(TWO_CALLS, {"say": "Done."})
    cut = await after(model, [GO], text, text)

    assert await asked(model, cut) == [BASH, READ_A]
    assert (await play(model, cut)).message["content"][0]["type"] == "tool_use"
    again = await after(model, cut, "fine", "fine")
    assert (await play(model, again)).message == assistant_message("Done.")


async def test_only_the_calls_without_a_result_are_played_again() -> None:
    model = script(TWO_CALLS, {"say": "Done."})
    messages = await after(model, [GO], "fine", CUT)

    assert await asked(model, messages) == [READ_A]


async def test_what_is_cut_off_again_is_played_again_as_often() -> None:
    """The place is counted from the messages alone, whoever has sent them."""
    turns = (TWO_CALLS, {"say": "Done."})
    messages = await after(script(*turns), [GO], CUT, NOT_STARTED)
    messages = await after(script(*turns), messages, "fine", CUT)
    messages = await after(script(*turns), messages, CUT)
    assert await asked(script(*turns), messages) == [READ_A]

    messages = await after(script(*turns), messages, "fine")
    assert (await play(script(*turns), messages)).message == assistant_message("Done.")


async def test_ids_of_calls_that_are_played_again_are_new() -> None:
    model = script(TWO_CALLS, {"say": "Done."}, id_prefix="toolu_x")
    messages = [GO]
    for _ in range(3):
        messages = await after(model, messages, CUT, CUT)

    ids = [call["id"] for message in messages for call in tool_uses(message)]
    assert len(set(ids)) == len(ids) == 6
    assert all(one.startswith("toolu_x_1_") for one in ids)


async def test_the_step_after_one_that_was_cut_off_may_look_the_same() -> None:
    model = script(READ, READ, {"say": "Done."})
    messages = await after(model, [GO], CUT)
    messages = await after(model, messages, "first")
    messages = await after(model, messages, "second")

    assert (await play(model, messages)).message == assistant_message("Done.")


async def test_mail_beside_what_was_cut_off_changes_nothing() -> None:
    model = script(READ, {"say": "Done."})
    *messages, results = await after(model, [GO], CUT)
    messages = [*messages, user_message(*results["content"], "This session was cut off.")]

    assert await asked(model, messages) == [READ_A]


async def test_a_call_that_failed_by_itself_fails_the_step_although_another_was_cut_off() -> None:
    model = script(TWO_CALLS, {"say": "Done."})
    messages = await after(model, [GO], "error: exit 1", CUT)

    with pytest.raises(ScriptError, match=r"step 1 \(Bash\) failed: error: exit 1"):
        await play(model, messages)
    assert not model.may_go_on(messages)


async def test_an_expected_error_is_none_that_we_made() -> None:
    model = script({**TWO_CALLS, "expect": "error"}, {"say": "As expected."})
    cut = await after(model, [GO], "fine", CUT)

    assert await asked(model, cut) == [READ_A]
    with pytest.raises(ScriptError, match=r"step 1 \(Bash, Read\) was expected to fail"):
        await play(model, await after(model, cut, "fine"))
    failed = await after(model, cut, "error: no such file")
    assert (await play(model, failed)).message == assistant_message("As expected.")


async def test_an_expected_error_of_a_call_beside_one_that_was_cut_off_counts() -> None:
    model = script({**TWO_CALLS, "expect": "error"}, {"say": "As expected."})
    messages = await after(model, [GO], "error: exit 1", CUT)
    messages = await after(model, messages, "fine")

    assert (await play(model, messages)).message == assistant_message("As expected.")


async def test_a_last_step_that_was_cut_off_is_not_finished() -> None:
    model = script(READ)
    cut = await after(model, [GO], CUT)

    assert model.unfinished(cut) == "the work ended, but step 1 was cut off and not played again"
    assert model.may_go_on(cut)
    again = await after(model, cut, "fine")
    assert model.unfinished(again) is None
    assert not model.may_go_on(again)
