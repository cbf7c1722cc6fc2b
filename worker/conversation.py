"""The talk of one session about one task, from where an earlier one was cut off if there is such."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Sequence

from worker.claim import HeldClaim
from worker.context.opening import opening
from worker.hold import Hold
from worker.loop.reasons import COMPLETED, TASK_ENDED, Terminal
from worker.messages import (
    Message,
    count_turns,
    final_text,
    is_interrupted,
    requoted,
    tool_results,
    user_message,
)
from worker.prompts.texts import resumed
from worker.session.history import (
    RETRY,
    carried_mail,
    fold_session,
    mail_blocks,
    mail_outside,
    paths_written,
    session_to_continue,
)
from worker.session.recall import Begun, began_since, begun_calls, ended_by_model, files_seen, last_time
from worker.session.transcript import Line, read_transcript
from worker.talk import Subject, Talk
from worker.tools.contract import Ending
from worker.tools.paths import resolve
from worker.workbench import Workbench

_SHOWN_CHARS = 2_000


class Conversation(Talk):
    """One agent's talk with its model about one task."""

    def __init__(
        self, bench: Workbench, claim: HeldClaim, stop: asyncio.Event, session: str, hold: Hold | None = None
    ) -> None:
        self._task = claim.task
        model = bench.models.model_for(claim.task, session)
        subject = Subject(model=model, check=claim.check, task=claim.task, token=claim.token)
        super().__init__(bench, subject, stop, session, hold)
        self._others = self._read_others()
        self.context.touched |= self._written_before()

    def _written_before(self) -> set[str]:
        """Return the files that earlier sessions, of whomever, wrote for this task: they are its work too."""
        sources = [self._earlier, *self._others.values()]
        given = {path for lines in sources for path in paths_written(lines, self._task.id) if path}
        return {os.path.realpath(resolve(path, self.context.cwd)) for path in given}

    def _read_others(self) -> dict[str, list[Line]]:
        """Return the transcripts of the others, by name, if one of them may have been on the task."""
        task, team = self._task, self._bench.team
        if not (task.attempts or task.crashes or task.reason):
            return {}
        names = [name for name in team.roster.load().names() if name != self._bench.agent.name]
        return {name: read_transcript(team.layout.transcript(name)) for name in names}

    async def begin(self) -> Terminal:
        """Open the session, as new or where a cut-off one stopped, and play the first round."""
        parent = session_to_continue(self._earlier, self._task.id, self._task.attempts)
        carried = carried_mail(self._earlier)
        cause = "resume" if parent else "retry" if self._task.attempts else "claim"
        self._start(cause, parent=parent, carried=carried)
        if self._task.attempts:
            attempts = {"attempts": self._task.attempts}
            self.transcript.note(RETRY, f"attempt {self._task.attempts + 1}", attempts)
        if parent is not None:
            self._carried = mail_outside(self._earlier, parent, carried)
            return await self._resume(parent)
        self._carried = mail_blocks(self._earlier, carried)
        return await self._open()

    async def go_on(self, terminal: Terminal, text: str) -> Terminal:
        """Play a further round after this one, beginning with this text; the task has not ended after all."""
        self.context.ending = None
        return await self._say(text, terminal.messages)

    async def _open(self) -> Terminal:
        table = self._bench.team.tasks(self._bench.agent.name).table()
        blockers = [found for one in self._task.blocked_by if (found := table.find(one)) is not None]
        first = opening(self._bench.agent, self._task, blockers)
        self.transcript.user(first)
        return await self._play([first])

    async def _resume(self, parent: str) -> Terminal:
        """Go on after a cut. Where the model had ended its work already it is not asked again."""
        messages = fold_session(self._earlier, parent)
        self._recall(parent)
        begun = begun_calls(self._earlier, parent)
        last = messages[-1] if messages else user_message()
        if last["role"] == "assistant" and not begun:
            return _ended(COMPLETED, messages)
        if self.context.ending is not None and not any(map(is_interrupted, tool_results(last))):
            return _ended(TASK_ENDED, messages)
        then = last_time(self._earlier, parent)
        others = [name for name, lines in self._others.items() if began_since(lines, self._task.id, then)]
        return await self._say(resumed(others, [_told(one) for one in begun]), messages)

    def _recall(self, parent: str) -> None:
        """Know what the session before knew: the files that it had seen, and that it had ended the task."""
        for path, digest in files_seen(self._earlier, parent).items():
            self.context.read_state.recall(path, digest)
        ended = ended_by_model(self._earlier, parent)
        if ended is not None:
            status, reason = ended
            self.context.ending = Ending(
                status="failed" if status == "failed" else "completed", text=reason.strip()
            )


def _told(begun: Begun) -> tuple[str, str]:
    """Return a call and its result as text."""
    given = json.dumps(begun.call.get("input"), ensure_ascii=False)
    result = "interrupted" if begun.result is None else str(begun.result.get("content"))
    return f"{begun.call.get('name')} {given[:_SHOWN_CHARS]}", requoted(result[:_SHOWN_CHARS])


def _ended(reason: str, messages: Sequence[Message]) -> Terminal:
    """Return the end that a loop had come to before it was cut off."""
    said = next(message for message in reversed(messages) if message["role"] == "assistant")
    return Terminal(
        reason=reason,
        messages=tuple(messages),
        turns=count_turns(messages),
        usage={},
        text=final_text(said),
    )
