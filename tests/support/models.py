"""A model that says what a test wants, and checks each request as strictly as a real service does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence

from swarm.core.task import Task
from worker.messages import Message, assistant_message, blocks_of, tool_results, tool_uses
from worker.model.port import Model, ModelEvent, ModelRequest, TurnDone

Answer = Message | str | Exception | asyncio.Event
"""A message, a text that ends the work, an error, or an event that the model waits for first."""


class FakeModel:
    """Gives its answers one after another; `requests` holds what it was asked."""

    name = "fake"

    def __init__(self, *answers: Answer) -> None:
        self._answers = list(answers)
        self.requests: list[ModelRequest] = []
        self.asked = asyncio.Event()
        self.closed = 0

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        check_array(request.messages)
        self.requests.append(request)
        self.asked.set()
        try:
            answer = self._answers.pop(0)
            while isinstance(answer, asyncio.Event):
                await answer.wait()
                answer = self._answers.pop(0)
            if isinstance(answer, Exception):
                raise answer
            message = assistant_message(answer) if isinstance(answer, str) else answer
            stop_reason = "tool_use" if tool_uses(message) else "end_turn"
            yield TurnDone(message=message, stop_reason=stop_reason, usage={"input_tokens": 2})
        finally:
            self.closed += 1

    def unfinished(self, messages: list[Message]) -> str | None:
        return None

    def may_go_on(self, messages: list[Message]) -> bool:
        return True


class OneModel:
    """The models of a life that always asks the same one."""

    def __init__(self, model: Model) -> None:
        self._model = model

    def model_for(self, task: Task, session: str) -> Model:
        """Return the one."""
        return self._model

    def model_for_mail(self) -> Model | None:
        """Return the one."""
        return self._model

    async def load(self) -> None:
        """Do nothing."""

    async def close(self) -> None:
        """Do nothing."""


def check_array(messages: Sequence[Message]) -> None:
    """Fail like the service: roles alternate from the user on, calls are paired, no text is blank."""
    expected: list[str] = []
    for position, message in enumerate(messages):
        assert message["role"] == ("assistant" if position % 2 else "user"), f"message {position}"
        blocks = blocks_of(message)
        assert blocks, f"message {position} is empty"
        for block in blocks:
            assert block["type"] != "text" or block["text"].strip(), f"blank text in message {position}"
        results = [block["tool_use_id"] for block in tool_results(message)]
        assert results == expected, f"message {position} answers {results}, the calls were {expected}"
        assert all(b["type"] == "tool_result" for b in blocks[: len(results)]), "results come first"
        expected = [call["id"] for call in tool_uses(message)]
    assert not expected, "the last calls have no results"
