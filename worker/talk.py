"""An agent's talk with its model: what goes into it, the calls it makes, and its lines on disk."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import aclosing

from swarm.core.task import Task
from swarm.core.transcript import COMPACTED
from swarm.settings import SCRIPTED_MODEL
from swarm.values import Value
from worker.calls import Calls
from worker.context.instructions import date_reminder
from worker.hold import RATE_LIMIT, Hold
from worker.loop.query import AssistantTurn, LoopDeps, LoopEnded, LoopEvent, RequestStarted, run_loop
from worker.loop.reasons import NEXT_TURN, Terminal
from worker.loop.state import Limits, Transition, first_state
from worker.messages import Block, Message, blocks_of, text_block, user_message
from worker.model.port import Model, ModelRequest, Retrying
from worker.permission import PermissionGate
from worker.planning import PlanReminders
from worker.prompt import make_prompt, parse_prompt, render_prompt
from worker.session.mail import MailReader
from worker.session.recall import prompt_of
from worker.session.transcript import Transcript, mail_given, read_transcript
from worker.tools.contract import ToolContext
from worker.tools.registry import schemas
from worker.tools.tracking import ProcessTracker
from worker.workbench import Workbench

RECOVERED = "recovered"
"""Kind of the note that something went wrong with an answer, and what was done."""


class Subject(Value):
    """What an agent talks with its model about. `check` raises when it is no longer the agent's to do.

    `task` and its `token` are None for a talk that is about no task.
    """

    model: Model
    check: Callable[[], object]
    task: Task | None = None
    token: str | None = None


class Talk:
    """One session's talk. A round is what happens until the loop ends."""

    def __init__(
        self, bench: Workbench, subject: Subject, stop: asyncio.Event, session: str, hold: Hold | None
    ) -> None:
        self._bench = bench
        self._stop = stop
        self._hold = hold
        self._check = subject.check
        self._task_id = None if subject.task is None else subject.task.id
        self.model = subject.model
        team, agent = bench.team, bench.agent
        path = team.layout.transcript(agent.name)
        self._earlier = read_transcript(path)
        self._mail = MailReader(team.inbox(agent.name), agent.name, mail_given(self._earlier))
        self._carried: list[Block] = []
        self._gate = gate = PermissionGate(
            team,
            agent,
            bench.policy,
            subject.task,
            headless=bench.headless,
            waits=hold,
            check=subject.check,
        )
        self._plan_reminders = PlanReminders(gate.plan)
        self.context = ToolContext(
            agent=agent,
            cwd=bench.workspace,
            workspace=bench.workspace,
            team=team,
            task_id=self._task_id,
            token=subject.token,
            settings=team.settings,
            environ=bench.environment_of(self._task_id),
            results_dir=team.layout.tool_results(agent.name),
            track=ProcessTracker(team.agents, agent.run_id, team.clock),
            denied_reads=gate.denied_reads,
            plan=gate.plan,
        )
        self.transcript = Transcript(
            path, team.clock, session=session, run_id=agent.run_id, task=self._task_id
        )
        self._calls = Calls(bench.tools, self.context, gate, self.transcript, stop, subject.check)
        self._prompt = make_prompt(bench, self._date())
        self._tools = schemas(bench.offered)

    def _start(self, cause: str, *, parent: str | None = None, carried: Sequence[str] = ()) -> None:
        """Begin the session on disk. One that goes on begins with the very words of the one before.

        So what the service keeps of that one is read, and thoughts, which are good only after exactly what
        they came after, still stand there.
        """
        if parent is not None:
            self._prompt = parse_prompt(prompt_of(self._earlier, parent)) or self._prompt
        model = self._bench.agent.model
        prompt = None if model == SCRIPTED_MODEL else render_prompt(self._prompt)
        self.transcript.start(cause=cause, model=model, parent=parent, carried=carried, prompt=prompt)

    async def _say(self, text: str, earlier: Sequence[Message] = ()) -> Terminal:
        """Play a round that begins with this text."""
        message = user_message(text)
        self.transcript.user(message)
        return await self._play([*earlier, message])

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
            if self._hold is not None:
                self._hold.end_wait()
            await self._calls.close()
        assert terminal is not None  # noqa: S101 - the loop's promise
        return terminal

    def _write_down(self, event: LoopEvent) -> None:
        """Put into the transcript what happened; whatever the next request depends on is in it first."""
        if self._hold is not None and not isinstance(event, Retrying):
            self._hold.end_wait()
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
                self._bench.emit("rate_limited", task=self._task_id, why=event.why, **data)
                if self._hold is not None:
                    self._hold.begin_wait(RATE_LIMIT, event.wait_seconds)

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
            system=self._prompt.system,
            messages=_with_reminder(messages, self._prompt.reminder),
            tools=self._tools,
            max_tokens=max_tokens,
        )

    async def _gather(self) -> Sequence[Block]:
        """Return the mail for the next request. Between two turns is also where a lost claim is noticed.

        Waits as long as the agent is held.
        """
        if self._hold is not None:
            await self._hold.passed(self._stop)
        self._check()
        if self._stop.is_set():
            return ()
        carried, self._carried = self._carried, []
        said = [*self._new_day(), *self._noted(self._plan_reminders.next()), *self._said_by_people()]
        return [*carried, *said, *self._mail.take(self.transcript)]

    def _said_by_people(self) -> Sequence[Block]:
        """Return what people said with the calls that they allowed; a denial has it in its result."""
        return self._noted([text_block(note) for note in self._gate.take_notes()])

    def _noted(self, blocks: Sequence[Block]) -> Sequence[Block]:
        if blocks:
            self.transcript.user(user_message(*blocks))
        return blocks

    def _new_day(self) -> Sequence[Block]:
        """Return what to say once a day has passed; said at the end, it changes nothing that was sent."""
        today = self._date()
        if today == self._prompt.date:
            return ()
        self._prompt = self._prompt.replace(date=today)
        block = text_block(date_reminder(today))
        self.transcript.user(user_message(block))
        return (block,)

    def _date(self) -> str:
        return time.strftime("%Y-%m-%d", time.localtime(self._bench.team.clock.now()))


def _with_reminder(messages: list[Message], text: str) -> list[Message]:
    """Return the messages of a request with what stands before the first one, and in no transcript."""
    first, *others = messages
    return [user_message(text, *blocks_of(first)), *others]
