"""One session: one attempt at one task, from its first message to the end of the claim.

The loop asks and decides; here is what it is given to do so, and what becomes of its end: checks, commit,
result. Everything that happens is in the transcript before anything follows from it.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack, suppress
from typing import Any

from swarm.core.task import TaskResult
from swarm.core.untrusted import clean
from swarm.errors import StateError, SwarmError, is_full
from swarm.storage.layout import project_dir
from swarm.storage.lock import FileLock
from swarm.storage.processes import new_short_id
from swarm.storage.syscalls import make_folders
from swarm.workspace.git import Bounds, GitStoppedError
from swarm.workspace.leftovers import COMMIT_MARK
from swarm.workspace.locks import held
from worker.claim import RELEASED, ClaimLostError, HeldClaim, Outcome
from worker.commit import CommitRefusal, Ground, Work, commit_work
from worker.conversation import Conversation
from worker.hold import Hold
from worker.loop.abort import Aborted, unless_aborted
from worker.loop.reasons import ABORTED, BUDGET_SPENT, MAX_TURNS, NO_SERVICE, REPEATED_FAILURES, Terminal
from worker.messages import Message, blocks_of, final_text
from worker.prompts.texts import commit_refused, verify_failed
from worker.verify import CheckFailure, run_checks
from worker.workbench import Workbench

logger = logging.getLogger(__name__)

Setback = CheckFailure | CommitRefusal
"""Why the work is not done although the agent says so; it goes back to the agent."""

STOPPED = "stopped"
"""Reason of a task that its agent gave back because it was asked to stop."""

# Ends of a session that are no ends of its loop; `aborted_…` can be continued.
ABORTED_VERIFY = "aborted_verify"
ABORTED_KILL = "aborted_kill"
CLAIM_LOST = "claim_lost"
FAULT = "fault"
REFUSED = "refused"
"""A script wanted a call that was not permitted. Played again, it would want the same."""

_SHOWN_CHARS = 300
_REPORT_CHARS_MAX = 20_000
"""A report is copied into task, events, mail and the next tasks' first messages."""


class Session:
    """Plays one attempt. `stop` ends it early; then the task is given back and every call has a result.

    While `hold` holds the agent its model is not asked. `why_stopped` gives the reason once `stop` is set.
    `unserved` is set when the attempt ended for want of a service that answers this agent at all.
    """

    def __init__(
        self,
        bench: Workbench,
        claim: HeldClaim,
        stop: asyncio.Event,
        hold: Hold | None = None,
        why_stopped: Callable[[], str] = lambda: STOPPED,
    ) -> None:
        self.id = new_short_id()
        self._why_stopped = why_stopped
        self._bench = bench
        self._claim = claim
        self._task = claim.task
        self._stop = stop
        self._hold = hold
        self._opened: Conversation | None = None
        self._returns = 0
        self._last_setback: Setback | None = None
        self._why = FAULT
        self.unserved: str | None = None

    @property
    def _talk(self) -> Conversation:
        if self._opened is None:
            self._opened = Conversation(self._bench, self._claim, self._stop, self.id, self._hold)
        return self._opened

    async def run(self) -> Outcome | None:
        """Return what became of the task; None when it was taken from us meanwhile.

        A fault of our own ends the attempt with that reason, unless we are asked to stop. Raises only when
        not even this can be written down, or when the asyncio task is cancelled: then the task has been
        given back.
        """
        outcome: Outcome | None = None
        try:
            outcome = await self._guarded()
        finally:
            self._close(outcome)
        return outcome

    def _close(self, outcome: Outcome | None) -> None:
        """Write the last line; a failure here changes nothing of what became of the task."""
        if self._opened is None:
            return
        try:
            self._opened.transcript.end(why=self._why, outcome=outcome.status if outcome else RELEASED)
        except StateError as error:
            logger.warning("transcript not ended", extra={"swarm_error": str(error)})

    async def _guarded(self) -> Outcome | None:
        try:
            return await self._attempt()
        except ClaimLostError:
            self._lose()
            return None
        except asyncio.CancelledError:
            self._why = ABORTED_KILL
            with suppress(ClaimLostError):
                self._claim.release(self._why_stopped())
            raise
        except Exception as error:
            logger.exception("session failed", extra={"swarm_task": self._task.id})
            self._why = FAULT
            return self._end_after(error)

    def _end_after(self, error: Exception) -> Outcome | None:
        reason = str(error) if isinstance(error, SwarmError) else f"{type(error).__name__}: {error}"
        try:
            if self._stop.is_set():
                return self._claim.release(self._why_stopped())
            if is_full(error):  # no fault of the task's: it is given back when there is room again
                raise error
            return self._claim.end_attempt(reason)
        except ClaimLostError:
            self._lose()
            return None

    def _lose(self) -> None:
        self._why = CLAIM_LOST
        logger.warning("claim lost", extra={"swarm_task": self._task.id})

    async def _attempt(self) -> Outcome:
        terminal = await self._talk.begin()
        while True:
            self._why = terminal.reason
            judged = await self._judge(terminal)
            if isinstance(judged, Outcome):
                return judged
            terminal = await self._talk.go_on(terminal, self._returned(judged))

    async def _judge(self, terminal: Terminal) -> Outcome | Setback:
        """Decide what the end of a loop means for the task. Only an end that says so may complete it."""
        if terminal.reason in ABORTED:
            return self._claim.release(self._why_stopped())
        if terminal.reason == NO_SERVICE:
            self.unserved = str(terminal.error)
        if terminal.reason in (BUDGET_SPENT, NO_SERVICE):
            return self._claim.release(str(terminal.error))
        if terminal.error is not None:
            return self._end_by(terminal.error)
        if terminal.reason == MAX_TURNS:
            return self._claim.end_attempt(f"no end after {terminal.turns} turns")
        if terminal.reason == REPEATED_FAILURES:
            return self._claim.end_attempt(_same_failure(terminal))
        ending = self._talk.context.ending
        if ending is not None and ending.status == "failed":
            return self._claim.fail(clean(ending.text))
        return await self._finish(terminal)

    def _end_by(self, error: SwarmError) -> Outcome:
        """End the attempt; no other is made of a script that was refused a call."""
        refused = not self._talk.context.refused.isdisjoint(error.details.get("failed_calls", ()))
        if refused:
            self._why = REFUSED
        return self._claim.end_attempt(self._told(str(error)), final=refused)

    async def _finish(self, terminal: Terminal) -> Outcome | Setback:
        """Check, commit and complete. What was checked is what is committed: one lock holds for both."""
        try:
            async with AsyncExitStack() as stack:
                lock = self._workspace_lock()
                await unless_aborted(self._stop, stack.enter_async_context(held(lock)))
                setback: Setback | None = await unless_aborted(self._stop, self._check())
                if setback is None:
                    done = await self._deliver(terminal)
                    if isinstance(done, Outcome):
                        return done
                    setback = done
                return setback if self._may_return() else self._claim.end_attempt(self._told(str(setback)))
        except (Aborted, GitStoppedError):
            self._why = ABORTED_VERIFY
            return self._claim.release(self._why_stopped())

    async def _deliver(self, terminal: Terminal) -> Outcome | CommitRefusal:
        """Commit and complete. A script may go on after a refusal, so it is asked for its rest only then."""
        summary = self._summary(terminal)
        model, messages = self._talk.model, list(terminal.messages)
        left = model.unfinished(messages)
        if left is not None and not model.may_go_on(messages):
            return self._claim.end_attempt(left)
        self._claim.check()
        work = await self._commit(summary)
        if isinstance(work, CommitRefusal):
            return self._noted(work)
        if left is not None:
            return self._claim.end_attempt(left)
        return self._claim.complete(TaskResult(summary=summary, files=work.files, commit=work.commit))

    async def _check(self) -> CheckFailure | None:
        """Run the task's checks; a failure is noted where people and the leader look."""
        if not self._task.verify:
            return None
        failure = await run_checks(
            self._task.verify,
            workspace=self._bench.workspace,
            environ=self._talk.context.environ,
            settings=self._bench.team.settings,
            track=self._talk.context.track,
        )
        self._last_setback = failure
        if failure is None:
            self._bench.emit("verify_passed", task=self._task.id, commands=len(self._task.verify))
            return None
        self._bench.emit(
            "verify_failed", task=self._task.id, command=failure.command, outcome=failure.outcome
        )
        self._talk.transcript.note("verify_failed", str(failure), {"output": failure.output})
        return failure

    def _noted(self, refusal: CommitRefusal) -> CommitRefusal:
        """Note a refused commit where a failed check is noted."""
        self._last_setback = refusal
        self._bench.emit("verify_failed", task=self._task.id, command="git commit", outcome=refusal.why)
        self._talk.transcript.note("hook", str(refusal), {"output": refusal.output})
        logger.warning("commit refused", extra={"swarm_task": self._task.id})
        return refusal

    def _may_return(self) -> bool:
        return self._returns < self._bench.team.settings.verify_returns_max

    def _returned(self, setback: Setback) -> str:
        self._returns += 1
        if isinstance(setback, CommitRefusal):
            return commit_refused(setback.why, setback.output)
        return verify_failed(setback.command, setback.outcome, setback.output)

    def _told(self, reason: str) -> str:
        """Return a reason with the check or commit that failed before it, if that is what led here."""
        if self._last_setback is None or str(self._last_setback) == reason:
            return reason
        return f"{self._last_setback}; then {reason}"

    async def _commit(self, summary: str) -> Work | CommitRefusal:
        """Commit in a thread, which has ended when this returns or raises: no commit lands after that.

        A stop and a cancellation end git. What it had committed by then is returned in spite of the stop.
        """
        cut = threading.Event()
        touched = frozenset(self._talk.context.touched)
        working = asyncio.ensure_future(
            asyncio.to_thread(commit_work, self._ground(cut), self._task, self._bench.agent, touched, summary)
        )
        stopping = asyncio.ensure_future(self._stop.wait())
        try:
            await asyncio.wait({working, stopping}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            cut.set()
            stopping.cancel()
            await _ended(working)
        return working.result()

    def _ground(self, cut: threading.Event) -> Ground:
        """Return where to commit. Hooks carry our run id: whoever finds us dead ends them too."""
        bench = self._bench
        ours = bench.environment_of(self._task.id)
        marks = {name: value for name, value in ours.items() if name.startswith("SWARM_")}
        marks[COMMIT_MARK] = bench.agent.run_id
        return Ground(
            workspace=bench.workspace,
            environ={**bench.environ, **marks},
            bounds=Bounds(seconds=bench.team.settings.commit_timeout_seconds, stop=cut),
            expected=bench.in_repository,
        )

    def _workspace_lock(self) -> FileLock:
        team = self._bench.team
        folder = f"{project_dir(team.root, self._bench.workspace)}/.locks"
        make_folders(folder)
        return FileLock(f"{folder}/workspace", team.settings, team.clock, self._bench.agent.agent_id)

    def _summary(self, terminal: Terminal) -> str:
        ending = self._talk.context.ending
        said = ending.text if ending is not None and ending.text.strip() else terminal.text
        text = clean(said or _last_words(terminal.messages)).strip() or "(no summary)"
        if len(text) <= _REPORT_CHARS_MAX:
            return text
        return (
            f"{text[:_REPORT_CHARS_MAX]}\n(cut; all of it is in the transcript of {self._bench.agent.name})"
        )


async def _ended(working: asyncio.Future[Any]) -> None:
    """Wait for its end, however often this is cancelled meanwhile."""
    cancelled = False
    while not working.done():
        try:
            await asyncio.wait({working})
        except asyncio.CancelledError:
            cancelled = True
    working.exception()  # so that nobody is told that it was never looked at
    if cancelled:
        raise asyncio.CancelledError


def _same_failure(terminal: Terminal) -> str:
    failed = blocks_of(terminal.messages[-1])[-1]
    text = " ".join(str(failed.get("content", "")).split())
    return f"the same calls failed in the same way again and again, last: {text[:_SHOWN_CHARS]}"


def _last_words(messages: Sequence[Message]) -> str:
    said = (final_text(message) for message in reversed(messages) if message["role"] == "assistant")
    return next((text for text in said if text), "")
