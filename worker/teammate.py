"""The life of a teammate between its sessions: look for a task, work on it, report, wait.

Nothing here asks a model. What wakes it is only a hint; what is true stands in the team's files.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from functools import partial

from swarm.core.identity import LEADER, USER
from swarm.core.message import idle_notification, shutdown_reply, task_report
from swarm.core.operations import Refusal
from swarm.core.task import Task
from swarm.core.times import format_time
from swarm.errors import StateError, SwarmError, is_full
from swarm.storage.dead import find_dead_lives, free_dead_claims, is_due
from swarm.storage.mail import send
from swarm.storage.questions import close_stale
from swarm.workspace.leftovers import end_leftovers, end_marked
from worker.claim import ClaimLostError, HeldClaim, Outcome
from worker.correspondence import Correspondence
from worker.engine import STOPPED, Session
from worker.hold import Hold
from worker.idle import IdleReason, idle_reason
from worker.loop.reasons import NO_SERVICE
from worker.orders import ORPHANED, Orders
from worker.presence import Presence
from worker.session.history import carried_mail, last_task, session_to_continue
from worker.session.mail import senders_of_letters
from worker.session.transcript import read_transcript
from worker.workbench import Workbench

logger = logging.getLogger(__name__)

FAILED = "failed"
KILLED = "killed"


class Teammate:
    """One life of one teammate. It holds at most one claim at any time."""

    def __init__(
        self, bench: Workbench, presence: Presence, stop: asyncio.Event, hint: asyncio.Event
    ) -> None:
        self._bench = bench
        self._team = bench.team
        self._name = bench.agent.name
        self._store = bench.team.tasks(self._name)
        self._presence = presence
        self._stop = stop
        self._hint = hint
        self._hold = Hold(presence.held, presence.goes_on, presence.waits, presence.asks, stop)
        self._orders = Orders(self._team, self._name, presence, stop, self._hold)
        self._resting = False
        self._rests_because: IdleReason | None = None
        self._unsettled: HeldClaim | None = None
        self._unserved: str | None = None
        self._looked_back = False
        self._talks = 0
        self._no_room = False
        self._is_new = True

    async def run(self) -> str:
        """Live until asked to stop; return why it ended. Raises only when it is cancelled.

        What its commands left running ends with it.
        """
        self._presence.ready()
        beating = asyncio.create_task(self._presence.beat())
        ended = FAILED
        try:
            ended = await self._live()
        except asyncio.CancelledError:
            ended = KILLED
            raise
        except Exception:
            logger.exception("teammate failed")
        finally:
            beating.cancel()
            self._presence.stopped(ended, self._unserved if ended == FAILED else None)
        await asyncio.to_thread(end_marked, self._bench.agent.run_id, wait=self._kill_wait)
        return ended

    @property
    def _kill_wait(self) -> float:
        return self._team.settings.bash_kill_wait_seconds

    async def _live(self) -> str:
        with suppress(SwarmError):  # the leader, and who answers, do it as well
            close_stale(self._team, lambda request: request.agent == self._name)
        while not self._stop.is_set():
            seen = self._mark()
            try:
                self._settle()
                if self._unserved is not None:
                    return self._give_up(self._unserved)
                self._orders.look()
                if not self._presence.is_current():
                    return KILLED
                if self._hold.reason is not None:
                    async with self._orders.watched(self._hint):
                        await self._hold.passed(self._stop)
                    continue
                if self._stop.is_set():
                    break
                await self._free_dead()
                task = self._claim()
                if task is not None:
                    await self._work(task)
                    continue
                if await self._read_mail():
                    continue
                self._rest()
            except StateError as error:  # a lock held too long, a full disk: they may pass
                logger.warning("team files not usable", extra={"swarm_error": str(error)})
                self._no_room = is_full(error)
                seen = None
            await self._wait(seen)
        with suppress(StateError):  # it has ended all the same, and its record says why
            self._orders.answer(self._approve)
        return self._orders.ending

    # Work

    async def _free_dead(self) -> bool:
        """Free what dead teammates left, and tell whether there was any. Looks about once a second."""
        end_tools = partial(end_leftovers, wait=self._kill_wait)
        try:
            if not is_due(self._team) or not find_dead_lives(self._team, self._name):
                return False
            # In a thread: until the commands of the dead are gone, it waits.
            freed = await asyncio.to_thread(free_dead_claims, self._team, end_tools, self._name)
        except StateError as error:  # somebody else may do it, or we the next time
            logger.warning("dead claims not freed", extra={"swarm_error": str(error)})
            return False
        for one in freed:
            facts = {"swarm_task": one.task.id, "swarm_life": one.run_id, "swarm_reason": one.reason}
            logger.warning("dead claim freed", extra=facts)
        return bool(freed)

    def _claim(self) -> Task | None:
        """Take the lowest task that fits; without the lock where there is none.

        A claim of ours that we do not work on is one whose answer got lost: asking again gives it. Without
        money for the call that was refused last, nothing new is taken.
        """
        agent = self._bench.agent
        table = self._store.table()
        if not table.in_progress_of(agent.name) and (
            table.lowest_claimable(agent.name, agent.role) is None or self._is_short()
        ):
            return None
        wanted = self._cut_off_from() if self._is_new else None
        claimed = self._store.claim(agent.name, agent.role, agent.run_id, wanted)
        if wanted is not None and isinstance(claimed, Refusal):
            claimed = self._store.claim(agent.name, agent.role, agent.run_id)
        self._is_new = False
        if isinstance(claimed, Refusal):
            return None
        logger.info("task claimed", extra={"swarm_task": claimed.id})
        return claimed

    def _cut_off_from(self) -> str | None:
        """Return the free task in which the life before was cut off: we go on there, another begins anew."""
        lines = read_transcript(self._team.layout.transcript(self._name))
        last = last_task(lines)
        task = None if last is None else self._store.table().find(last)
        if task is None or task.status != "pending":
            return None
        return None if session_to_continue(lines, task.id, task.attempts) is None else task.id

    async def _work(self, task: Task) -> None:
        self._resting, self._rests_because, self._talks = False, None, 0
        self._unsettled = HeldClaim(self._store, task)
        session = Session(self._bench, self._unsettled, self._stop, self._hold, self._why_stopped)
        self._presence.working(task.id, session.id)
        try:
            async with self._orders.watched(self._hint):
                outcome = await session.run()
        finally:
            self._unserved = session.unserved
        self._unsettled = None
        if outcome is not None:
            logger.info("task ended", extra={"swarm_task": task.id, "swarm_status": outcome.status})
            self._report(outcome)

    async def _read_mail(self) -> bool:
        """Let the model read what has come while there is no task; tell whether it read any.

        Mail that could not be read stays with the transcript: it comes up with the next, or the next task,
        or when the next life begins.
        """
        model = self._bench.models.model_for_mail()
        if model is None:
            return False
        senders = senders_of_letters(self._team.inbox(self._name), self._name)
        if not (self._was_cut_off() or senders) or self._talks_too_much(senders):
            return False
        self._resting, self._rests_because = False, None
        talk = Correspondence(self._bench, model, self._stop, self._hold)
        self._presence.working(None, talk.id)
        async with self._orders.watched(self._hint):
            terminal = await talk.run()
        logger.info("mail read", extra={"swarm_reason": terminal.reason})
        if terminal.reason == NO_SERVICE:
            self._unserved = str(terminal.error)
        elif terminal.error is not None:
            self._tell_leader(f"My mail was not read: {terminal.error}", "mail not read")
        return terminal.error is None or self._unserved is not None

    def _talks_too_much(self, senders: frozenset[str]) -> bool:
        """Count talks about nothing but mail of teammates; after so many the next task has to come first.

        Two that answer each other would else never end.
        """
        if senders & {LEADER, USER}:
            self._talks = 0
            return False
        self._talks += 1
        most = self._team.settings.mail_talks_max
        if self._talks == most + 1:
            read = f"I have read mail of teammates {most} times without a task"
            self._tell_leader(f"{read}; what comes now waits for the next one.", "mail waits")
        return self._talks > most

    def _was_cut_off(self) -> bool:
        """Tell, once in each life, whether an earlier one took mail that may never have reached its model."""
        if self._looked_back:
            return False
        self._looked_back = True
        return bool(carried_mail(read_transcript(self._team.layout.transcript(self._name))))

    def _why_stopped(self) -> str:
        return ORPHANED if self._orders.ending == ORPHANED else STOPPED

    def _give_up(self, why: str) -> str:
        """End this life, as whatever it took next would come to the same; no new one is begun by itself.

        Tasks wait for a teammate whose model can be asked, mail for the next life.
        """
        logger.error("model service does not serve this agent", extra={"swarm_reason": why})
        self._tell_leader(f"My model cannot be asked, so I end here: {why}", "ended: no model service")
        return FAILED

    def _settle(self) -> None:
        """End an attempt whose end could not be written down; until then no other task is taken.

        Where there was no room, or no service, it is no attempt.
        """
        if self._unsettled is None:
            return
        is_none = self._no_room or self._unserved is not None
        end = self._unsettled.release if is_none else self._unsettled.end_attempt
        with suppress(ClaimLostError):
            self._report(end("its end could not be written to the team's files"))
        self._unsettled = None

    def _report(self, outcome: Outcome) -> None:
        text = task_report(
            outcome.task_id, outcome.status, outcome.summary, outcome.reason, outcome.unblocked, self._now()
        )
        self._tell_leader(text, f"task {outcome.task_id} {outcome.status}")

    # Rest

    def _rest(self) -> None:
        """Say once for each stretch of idleness that there is nothing to do, after all reports."""
        role = self._bench.agent.role
        why = idle_reason(self._store.table(), self._name, role, is_short=self._is_short())
        if why != self._rests_because:
            self._rests_because = why
            self._presence.idle(why.reason, why.on)
        if self._resting:
            return
        self._resting = True
        self._bench.emit("agent_idle", reason=why.reason, on=why.on)
        self._tell_leader(idle_notification(self._name, why.reason, self._now()), f"idle: {why.reason}")

    async def _wait(self, seen: object) -> None:
        """Wait until something has changed since `seen`, at most until the next sweep; or until the stop."""
        clock, settings = self._team.clock, self._team.settings
        sweep = clock.monotonic() + settings.idle_sweep_seconds
        await asyncio.sleep(settings.idle_pause_seconds)  # one look at what comes in a burst
        while not self._stop.is_set() and clock.monotonic() < sweep:
            await self._nap(settings.idle_check_seconds)
            if self._mark() != seen or self._is_held() or await self._free_dead():
                return

    async def _nap(self, seconds: float) -> None:
        """Sleep; a hint or the stop ends it early."""
        waits = [asyncio.ensure_future(event.wait()) for event in (self._stop, self._hint)]
        try:
            await asyncio.wait(waits, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
            self._hint.clear()

    def _is_held(self) -> bool:
        """Look whether the leader is gone; its orders come as mail, which counts as a change."""
        self._orders.look()
        return self._hold.reason is not None

    def _mark(self) -> object:
        """Return what differs after a change of a task or new mail; costs a few looks at files.

        What cannot be looked at now counts as changed: it may pass, and the look at everything tells.
        """
        try:
            return self._store.change_mark(), self._orders.mail_mark(), self._is_short()
        except StateError:
            return object()

    def _is_short(self) -> bool:
        """Whether our next call would be refused again, as the last one was; a look at one file."""
        return self._team.costs.table().is_short(self._bench.agent.run_id)

    # Mail

    def _approve(self, request_id: str) -> None:
        text = shutdown_reply(request_id, self._name, self._now(), approved=True)
        self._tell_leader(text, "shutting down")

    def _tell_leader(self, text: str, summary: str) -> None:
        """Send mail; a leader that cannot be reached finds the same in the task files and events."""
        try:
            send(self._team, self._name, LEADER, text, summary=summary)
        except SwarmError as error:
            logger.warning("mail to the leader not sent", extra={"swarm_error": str(error)})

    def _now(self) -> str:
        return format_time(self._team.clock.now())
