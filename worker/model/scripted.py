"""A model that plays a script: no key, no network, no luck. Everything around it is real.

It remembers nothing: where it stands in the script is the number of assistant turns in the messages of
this attempt, so it goes on at the right step after a restart and starts at the first one in a new attempt.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence

from swarm.errors import ModelError
from swarm.settings import SCRIPTED_MODEL
from swarm.teamfile.model import ScriptTurn
from worker.messages import (
    Block,
    Message,
    assistant_message,
    count_turns,
    text_block,
    tool_results,
    tool_use,
    tool_uses,
)
from worker.model.port import ModelEvent, ModelRequest, TextDelta, TurnDone

_SHOWN_CHARS = 200


class ScriptError(ModelError):
    """The work did not go as the script says; the attempt fails."""


class ScriptedModel:
    """Plays `turns`; ids of calls are `<id_prefix>_<step>_<call>`: a prefix per session makes them unique."""

    name = SCRIPTED_MODEL

    def __init__(
        self, turns: Sequence[ScriptTurn], *, id_prefix: str = "toolu", pace_seconds: float = 0.0
    ) -> None:
        self._turns = tuple(turns)
        self._id_prefix = id_prefix
        self._pace_seconds = pace_seconds

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Play the next step; a step whose result was not as expected, or none left, is a `ScriptError`."""
        surprise = self._surprise(request.messages)
        if surprise:
            raise ScriptError(surprise)
        position = count_turns(request.messages)
        if position >= len(self._turns):
            raise ScriptError(self._nothing_left())
        if self._pace_seconds:
            await asyncio.sleep(self._pace_seconds)
        turn = self._turns[position]
        if turn.say:
            yield TextDelta(text=turn.say)
        yield TurnDone(
            message=self._message(turn, position + 1),
            stop_reason="tool_use" if turn.calls else "end_turn",
            usage={"input_tokens": 0, "output_tokens": 0},
        )

    def unfinished(self, messages: list[Message]) -> str | None:
        """Return what the script still wants: an expectation not met, or steps that nobody played."""
        surprise = self._surprise(messages)
        left = len(self._turns) - count_turns(messages)
        if surprise or left <= 0:
            return surprise
        return f"the work ended, but {left} of the script's {_steps(len(self._turns))} were not played"

    def may_go_on(self, messages: list[Message]) -> bool:
        """Tell whether a further step could be played: there is one, and all before it went as written."""
        return self._surprise(messages) is None and count_turns(messages) < len(self._turns)

    def _message(self, turn: ScriptTurn, step: int) -> Message:
        said = [text_block(turn.say)] if turn.say else []
        calls = [
            tool_use(f"{self._id_prefix}_{step}_{number}", call.tool, dict(call.input))
            for number, call in enumerate(turn.calls, start=1)
        ]
        return assistant_message(*said, *calls)

    def _nothing_left(self) -> str:
        if not self._turns:
            return "this task has no script to play; give it one in the team file or use a real model"
        return f"the work is not done, but all {_steps(len(self._turns))} of its script have been played"

    def _surprise(self, messages: Sequence[Message]) -> str | None:
        """Return how the results of the last step differ from what the script expects, or None."""
        step = count_turns(messages)
        if not 0 < step <= len(self._turns):
            return None
        turn = self._turns[step - 1]
        failed = [result for result in _last_results(messages) if result.get("is_error")]
        if failed and turn.expect != "error":
            return f"step {step} ({_tool_of(messages, failed[0])}) failed: {_shown(failed[0])}"
        if turn.expect == "error" and not failed:
            tools = ", ".join(call.tool for call in turn.calls) or "no call"
            return f"step {step} ({tools}) was expected to fail, and did not"
        return None


def _last_results(messages: Sequence[Message]) -> tuple[Block, ...]:
    last = messages[-1] if messages else {"role": "user", "content": []}
    return tool_results(last) if last["role"] == "user" else ()


def _tool_of(messages: Sequence[Message], result: Block) -> str:
    calls = tool_uses(messages[-2])
    return next((call["name"] for call in calls if call["id"] == result["tool_use_id"]), "an unknown call")


def _shown(result: Block) -> str:
    text = " ".join(str(result.get("content", "")).split())
    return text if len(text) <= _SHOWN_CHARS else text[: _SHOWN_CHARS - 1] + "…"


def _steps(count: int) -> str:
    return f"{count} step{'' if count == 1 else 's'}"
