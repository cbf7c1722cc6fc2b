"""SendMessage: mail to teammates."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from pydantic import Field

from swarm.core.message import parse_control
from swarm.errors import SwarmError
from swarm.settings import Settings
from swarm.storage.mail import EVERYONE, SendResult, send
from worker.tools.contract import Tool, ToolContext, ToolInput, ToolOutput


class SendMessageInput(ToolInput):
    """A text and who is to have it."""

    to: str = Field(
        min_length=1, description='Name of a teammate, "team-lead" for the leader, or "*" for all others.'
    )
    message: str = Field(min_length=1, max_length=100_000, description="The text.")
    summary: str | None = Field(
        None, max_length=200, description="The text in five to ten words, for people."
    )


class SendMessage(Tool[SendMessageInput]):
    """Delivers into the recipients' inboxes. The sender is who runs the call, whatever the text says."""

    name = "SendMessage"
    Input = SendMessageInput
    team_tool = True

    def describe(self, settings: Settings) -> str:
        return (
            "Sends a message to a teammate. This is the only way to reach one: nobody else sees what you "
            "write in your own text.\n"
            "- Send what somebody needs to go on: a finding that touches their task, a question that only "
            "they can answer. They read it between their calls, so an answer may take a while; go on "
            "meanwhile.\n"
            "- Not to report that your task is done (TaskUpdate or your final message does that), not to "
            "thank or confirm, and not for new work (TaskCreate): each message interrupts somebody.\n"
            '- `to` "*" sends one copy to every other member; use it rarely.\n'
            "- The recipient has not seen your conversation: name files, tasks and what you want."
        )

    async def check(self, given: SendMessageInput, context: ToolContext) -> str | None:
        if not given.message.strip():
            return "The message is blank; write what the recipient should know."
        if parse_control(given.message.strip()) is not None:
            return "Control messages are sent by the runtime only; write what you want in plain words."
        return None

    async def run(self, given: SendMessageInput, context: ToolContext) -> ToolOutput:
        summary = " ".join((given.summary or "").split()) or None
        try:
            results = send(context.team, context.agent.name, given.to, given.message, summary=summary)
        except SwarmError as error:
            return _output(success=False, message=f"{error}.")
        if given.to == EVERYONE:
            return _to_all(results)
        (result,) = results
        return _output(success=True, message=_told(result), msg_id=result.msg_id)


def _told(result: SendResult) -> str:
    if result.recipient in (None, "stopped", "dead"):
        return f"Message left for {result.to}, who is not running now and will read it after a start."
    return f"Message sent to {result.to}."


def _to_all(results: Sequence[SendResult]) -> ToolOutput:
    sent = sum(result.error is None for result in results)
    each = [
        {"to": result.to, "error": str(result.error)}
        if result.error
        else {"to": result.to, "msg_id": result.msg_id}
        for result in results
    ]
    message = (
        f"Message sent to {sent} of {len(results)} members."
        if results
        else "There is nobody else in the team."
    )
    return _output(success=sent == len(results) and sent > 0, message=message, results=each)


def _output(*, success: bool, message: str, **facts: Any) -> ToolOutput:
    body = {"success": success, "message": message, **facts}
    return ToolOutput(text=json.dumps(body, ensure_ascii=False), is_error=not success)
