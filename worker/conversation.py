"""The conversation of one session: what goes into it, the calls it makes, and its lines on disk."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Sequence
from contextlib import aclosing

from swarm.core.transcript import COMPACTED
from worker.calls import Calls
from worker.claim import HeldClaim
from worker.context.environment import environment_text
from worker.context.instructions import date_reminder, read_instructions, reminder
from worker.context.opening import opening
from worker.context.system import system_prompt
from worker.hold import Hold
from worker.loop.query import AssistantTurn, LoopDeps, LoopEnded, LoopEvent, RequestStarted, run_loop
from worker.loop.reasons import COMPLETED, NEXT_TURN, TASK_ENDED, Terminal
from worker.loop.state import Limits, Transition, first_state
from worker.messages import (
    Block,
    Message,
    blocks_of,
    count_turns,
    final_text,
    is_interrupted,
    text_block,
    tool_results,
    user_message,
)
from worker.model.port import ModelRequest, Retrying
from worker.permission import PermissionGate
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
from worker.session.mail import MailReader
from worker.session.recall import Begun, began_since, begun_calls, ended_by_model, files_seen, last_time
from worker.session.transcript import Line, Transcript, mail_given, read_transcript
from worker.tools.contract import Ending, ToolContext
from worker.tools.paths import resolve
from worker.tools.registry import schemas
from worker.tools.tracking import ProcessTracker
from worker.workbench import Workbench

_SHOWN_CHARS = 2_000

RECOVERED = "recovered"
"""Kind of the note that something went wrong with an answer, and what was done."""


class Conversation:
    """One agent's talk with its model about one task. A round is what happens until the loop ends."""

    def __init__(
        self, bench: Workbench, claim: HeldClaim, stop: asyncio.Event, session: str, hold: Hold | None = None
    ) -> None:
        self._bench = bench
        self._claim = claim
        self._task = claim.task
        self._stop = stop
        self._hold = hold
        team, agent = bench.team, bench.agent
        path = team.layout.transcript(agent.name)
        self._earlier = read_transcript(path)
        self._mail = MailReader(team.inbox(agent.name), agent.name, mail_given(self._earlier))
        self._carried: list[Block] = []
        self.model = bench.models.model_for(self._task, session)
        self._gate = PermissionGate(team, agent, bench.policy, self._task.id, self._task.files)
        self.context = self._tool_context()
        self._others = self._read_others()
        self.context.touched |= self._written_before()
        self.transcript = Transcript(
            path, team.clock, session=session, run_id=agent.run_id, task=self._task.id
        )
        self._calls = Calls(bench.tools, self.context, self._gate, self.transcript, stop, claim.check)
        environment = environment_text(
            bench.workspace, in_repository=bench.in_repository, environ=bench.environ, model=agent.model
        )
        self._system = system_prompt(agent, team.roster.load().names(), environment)
        self._today = self._date()
        self._reminder = reminder(read_instructions(team.root, bench.workspace), self._today)
        self._tools = schemas(bench.tools)

    def _tool_context(self) -> ToolContext:
        team, agent = self._bench.team, self._bench.agent
        return ToolContext(
            agent=agent,
            cwd=self._bench.workspace,
            workspace=self._bench.workspace,
            team=team,
            task_id=self._task.id,
            token=self._claim.token,
            settings=team.settings,
            environ=self._bench.environment_of(self._task.id),
            results_dir=team.layout.tool_results(agent.name),
            track=ProcessTracker(team.agents, agent.run_id, team.clock),
            denied_reads=self._gate.denied_reads,
        )

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
        self.transcript.start(cause=cause, model=self._bench.agent.model, parent=parent, carried=carried)
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
        message = user_message(text)
        self.transcript.user(message)
        return await self._play([*terminal.messages, message])

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
        message = user_message(resumed(others, [_told(one) for one in begun]))
        self.transcript.user(message)
        return await self._play([*messages, message])

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

    async def _play(self, messages: Sequence[Message]) -> Terminal:
        state = first_state(messages, self._limits())
        terminal: Terminal | None = None
        try:
            async with aclosing(run_loop(state, self._deps())) as events:
                async for event in events:
                    if isinstance(event, LoopEnded):
                        terminal = event.terminal
                    else:
                        self._write_down(event)
        finally:
            await self._calls.close()
        assert terminal is not None  # noqa: S101 - the loop's promise
        return terminal

    def _write_down(self, event: LoopEvent) -> None:
        """Put into the transcript what happened; whatever the next request depends on is in it first."""
        match event:
            case AssistantTurn():
                self.transcript.assistant(event.message, event.stop_reason, event.usage)
                self._calls.written()
            case RequestStarted(transition=Transition() as transition) if transition.reason != NEXT_TURN:
                if transition.said is not None:
                    self.transcript.user(user_message(transition.said))
                if transition.cleared:
                    told = f"{len(transition.cleared)} old results taken out: the conversation was too long"
                    self.transcript.note(COMPACTED, told, {"cleared": list(transition.cleared)})
                else:
                    self.transcript.note(RECOVERED, transition.reason)
            case Retrying():
                data = {"tried": event.tried, "wait_seconds": round(event.wait_seconds, 3)}
                self.transcript.note(RECOVERED, event.why, data)
                self._bench.emit("rate_limited", task=self._task.id, why=event.why, **data)

    def _limits(self) -> Limits:
        settings = self._bench.team.settings
        return Limits(
            turns=settings.turns_max,
            output=settings.output_tokens_max,
            output_escalated=settings.output_tokens_escalated,
            output_recoveries=settings.output_recoveries_max,
        )

    def _deps(self) -> LoopDeps:
        return LoopDeps(
            model=self.model,
            make_request=self._request,
            tools=self._calls,
            gather_attachments=self._gather,
            abort=self._stop,
        )

    def _request(self, messages: list[Message], max_tokens: int) -> ModelRequest:
        return ModelRequest(
            model=self._bench.agent.model,
            system=self._system,
            messages=_with_reminder(messages, self._reminder),
            tools=self._tools,
            max_tokens=max_tokens,
        )

    async def _gather(self) -> Sequence[Block]:
        """Return the mail for the next request. Between two turns is also where a lost claim is noticed.

        Waits as long as the agent is held.
        """
        if self._hold is not None:
            await self._hold.passed(self._stop)
        self._claim.check()
        if self._stop.is_set():
            return ()
        carried, self._carried = self._carried, []
        return [*carried, *self._new_day(), *self._mail.take(self.transcript)]

    def _new_day(self) -> Sequence[Block]:
        """Return what to say once a day has passed; said at the end, it changes nothing that was sent."""
        today = self._date()
        if today == self._today:
            return ()
        self._today = today
        block = text_block(date_reminder(today))
        self.transcript.user(user_message(block))
        return (block,)

    def _date(self) -> str:
        return time.strftime("%Y-%m-%d", time.localtime(self._bench.team.clock.now()))


def _with_reminder(messages: list[Message], text: str) -> list[Message]:
    """Return the messages of a request with what stands before the first one, and in no transcript."""
    first, *others = messages
    return [user_message(text, *blocks_of(first)), *others]


def _told(begun: Begun) -> tuple[str, str]:
    """Return a call and its result as text."""
    given = json.dumps(begun.call.get("input"), ensure_ascii=False)
    result = "interrupted" if begun.result is None else str(begun.result.get("content"))
    return f"{begun.call.get('name')} {given[:_SHOWN_CHARS]}", result[:_SHOWN_CHARS]


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
