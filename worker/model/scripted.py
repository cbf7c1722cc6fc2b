"""A model that plays a script: no key, no network, no luck. Everything around it is real.

It remembers nothing: where it stands in the script is read off the messages of this attempt, see
`find_place`, so it goes on at the right step after a restart and starts at the first one in a new attempt.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence

from swarm.errors import ModelError
from swarm.settings import SCRIPTED_MODEL
from swarm.teamfile.model import ScriptTurn
from worker.messages import Block, Message, assistant_message, text_block, tool_use
from worker.model.place import Place, find_place
from worker.model.port import ModelEvent, ModelRequest, TextDelta, TurnDone

_SHOWN_CHARS = 200


class ScriptError(ModelError):
    """The work did not go as the script says; the attempt fails. `failed_calls` of its details say where."""


class ScriptedModel:
    """Plays `turns`; ids of calls are `<id_prefix>_<step>_<call>`: a prefix per session makes them unique.

    Calls that were cut off, by a stop or a kill, are no outcome of their step: they are made again, in a turn
    of their own and without those that have a result, before the next step. Their ids end in `_again<n>`.
    """

    name = SCRIPTED_MODEL

    def __init__(
        self, turns: Sequence[ScriptTurn], *, id_prefix: str = "toolu", pace_seconds: float = 0.0
    ) -> None:
        self._turns = tuple(turns)
        self._id_prefix = id_prefix
        self._pace_seconds = pace_seconds

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Play what comes next; a step whose result was not as expected, or none left, is a `ScriptError`."""
        place = find_place(request.messages)
        surprise = self._surprise(place)
        if surprise:
            failed = [call["id"] for call, result in place.results if result.get("is_error")]
            raise ScriptError(surprise, details={"failed_calls": failed})
        if not place.cut_off and place.step >= len(self._turns):
            raise ScriptError(self._nothing_left())
        if self._pace_seconds:
            await asyncio.sleep(self._pace_seconds)
        message = self._again(place) if place.cut_off else self._next(place)
        for block in message["content"]:
            if block["type"] == "text":
                yield TextDelta(text=block["text"])
        calls = message["content"][-1]["type"] == "tool_use"
        yield TurnDone(
            message=message,
            stop_reason="tool_use" if calls else "end_turn",
            usage={"input_tokens": 0, "output_tokens": 0},
        )

    def unfinished(self, messages: list[Message]) -> str | None:
        """Return what the script still wants: an expectation not met, or steps that nobody played."""
        place = find_place(messages)
        surprise = self._surprise(place)
        if surprise:
            return surprise
        if place.cut_off:
            return f"the work ended, but step {place.step} was cut off and not played again"
        left = len(self._turns) - place.step
        if left <= 0:
            return None
        return f"the work ended, but {left} of the script's {_steps(len(self._turns))} were not played"

    def may_go_on(self, messages: list[Message]) -> bool:
        """Tell whether a further turn could be played: there is one, and all before it went as written."""
        place = find_place(messages)
        return self._surprise(place) is None and (bool(place.cut_off) or place.step < len(self._turns))

    def _next(self, place: Place) -> Message:
        turn, step = self._turns[place.step], place.step + 1
        said = [text_block(turn.say)] if turn.say else []
        calls = [
            tool_use(f"{self._id_prefix}_{step}_{number}", call.tool, dict(call.input))
            for number, call in enumerate(turn.calls, start=1)
        ]
        return assistant_message(*said, *calls)

    def _again(self, place: Place) -> Message:
        calls = [
            tool_use(
                f"{self._id_prefix}_{place.step}_{number}_again{place.repeats + 1}",
                call["name"],
                dict(call["input"]),
            )
            for number, call in enumerate(place.cut_off, start=1)
        ]
        return assistant_message(*calls)

    def _nothing_left(self) -> str:
        if not self._turns:
            return "this task has no script to play; give it one in the team file or use a real model"
        count = len(self._turns)
        every = "the one step of its script has" if count == 1 else f"all {count} steps of its script have"
        return f"the work is not done, but {every} been played"

    def _surprise(self, place: Place) -> str | None:
        """Return how the results of the last step differ from what the script expects, or None."""
        step = place.step
        if not 0 < step <= len(self._turns):
            return None
        turn = self._turns[step - 1]
        failed = [(call, result) for call, result in place.results if result.get("is_error")]
        if failed and turn.expect != "error":
            call, result = failed[0]
            return f"step {step} ({call['name']}) failed: {_shown(result)}"
        if turn.expect == "error" and not failed and not place.cut_off:
            tools = ", ".join(call.tool for call in turn.calls) or "no call"
            return f"step {step} ({tools}) was expected to fail, and did not"
        return None


def _shown(result: Block) -> str:
    text = " ".join(str(result.get("content", "")).split())
    return text if len(text) <= _SHOWN_CHARS else text[: _SHOWN_CHARS - 1] + "…"


def _steps(count: int) -> str:
    return f"{count} step{'' if count == 1 else 's'}"
