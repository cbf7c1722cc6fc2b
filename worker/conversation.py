"""The conversation of one session: what goes into it, the calls it makes, and its lines on disk."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from contextlib import aclosing

from worker.claim import HeldClaim
from worker.context.opening import opening
from worker.context.system import system_prompt
from worker.hold import Hold
from worker.loop.abort import Aborted, unless_aborted
from worker.loop.query import AssistantTurn, LoopDeps, LoopEnded, run_loop
from worker.loop.reasons import COMPLETED, TASK_ENDED, Terminal
from worker.loop.state import ToolsRan, first_state
from worker.messages import (
    Block,
    Message,
    count_turns,
    final_text,
    interrupted_result,
    is_interrupted,
    tool_results,
    user_message,
)
from worker.model.port import ModelRequest
from worker.permission import PermissionGate
from worker.prompts.texts import resumed
from worker.session.history import (
    RETRY,
    began_since,
    carried_mail,
    ended_by_model,
    files_seen,
    fold_session,
    last_time,
    mail_blocks,
    mail_outside,
    paths_written,
    session_to_continue,
)
from worker.session.mail import MailReader
from worker.session.transcript import Line, Transcript, mail_given, read_transcript
from worker.tools.contract import Ending, ToolContext
from worker.tools.executor import execute
from worker.tools.paths import resolve
from worker.tools.registry import schemas
from worker.tools.tracking import ProcessTracker
from worker.workbench import Workbench


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
        self.model = bench.model_for(self._task, session)
        self._gate = PermissionGate(team, agent, bench.policy, self._task.id, self._task.files)
        self.context = self._tool_context()
        self._others = self._read_others()
        self.context.touched |= self._written_before()
        self.transcript = Transcript(
            path, team.clock, session=session, run_id=agent.run_id, task=self._task.id
        )
        self._system = system_prompt(agent, team.roster.load().names(), bench.workspace)
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
        last = messages[-1] if messages else user_message()
        if last["role"] == "assistant":
            return _ended(COMPLETED, messages)
        if self.context.ending is not None and not any(map(is_interrupted, tool_results(last))):
            return _ended(TASK_ENDED, messages)
        then = last_time(self._earlier, parent)
        others = [name for name, lines in self._others.items() if began_since(lines, self._task.id, then)]
        message = user_message(resumed(others))
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
        state = first_state(messages, self._bench.team.settings.turns_max)
        terminal: Terminal | None = None
        async with aclosing(run_loop(state, self._deps())) as events:
            async for event in events:
                if isinstance(event, AssistantTurn):
                    self.transcript.assistant(event.message, event.stop_reason, event.usage)
                elif isinstance(event, LoopEnded):
                    terminal = event.terminal
        assert terminal is not None  # noqa: S101 - the loop's promise
        return terminal

    def _deps(self) -> LoopDeps:
        return LoopDeps(
            model=self.model,
            make_request=self._request,
            run_tools=self._run_tools,
            gather_attachments=self._gather,
            abort=self._stop,
        )

    def _request(self, messages: list[Message]) -> ModelRequest:
        return ModelRequest(
            model=self._bench.agent.model,
            system=self._system,
            messages=messages,
            tools=self._tools,
            max_tokens=self._bench.team.settings.output_tokens_max,
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
        return [*carried, *self._mail.take(self.transcript)]

    async def _run_tools(self, calls: Sequence[Block]) -> ToolsRan:
        """Run the calls of one turn. Each result is in the transcript as soon as its tool has ended.

        None is run when the claim got lost while the model was speaking.
        """
        self._claim.check()
        done: dict[str, Block] = {}

        def ended(block: Block, elapsed: float, persisted: str | None) -> None:
            seen = self.context.read_state.noted_by(block["tool_use_id"])
            known = None if seen is None else {"path": seen.path, "digest": seen.digest}
            self.transcript.result(block, elapsed, persisted, known)
            done[block["tool_use_id"]] = block

        aborted = False
        try:
            await unless_aborted(
                self._stop, execute(calls, self._bench.tools, self.context, self._gate, ended)
            )
        except Aborted:
            aborted = True
        return ToolsRan(
            results=tuple(done.get(call["id"]) or interrupted_result(call["id"]) for call in calls),
            aborted=aborted or self._stop.is_set(),
            task_ended=self.context.ending is not None,
        )


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
