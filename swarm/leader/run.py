"""One run of a team file, from the first teammate to the report.

Nothing here is the truth: the graph, who works on what and what was denied are read from the team's
files, so the run can be watched, and judged afterwards, by anybody with `cat`.
"""

from __future__ import annotations

import asyncio
import os
import time
from threading import Event
from typing import Protocol

from swarm.backends.leftovers import close_leftovers
from swarm.backends.port import Backend
from swarm.core.identity import LEADER, color_for, make_run_id
from swarm.core.spawn import TeammateSpec
from swarm.core.table import TaskTable
from swarm.core.times import format_time
from swarm.errors import BackendError, SwarmError
from swarm.leader.asked import AskedOfTheRun
from swarm.leader.earlier import Earlier
from swarm.leader.evidence import denied_requests, used_tokens, why_gone
from swarm.leader.inheritance import after_plan, inherited, rules_of_file
from swarm.leader.launch import mode_to_lead_with
from swarm.leader.options import RunOptions
from swarm.leader.outcome import RunResult, decide_outcome, spending_of
from swarm.leader.progress import all_finished, can_progress, why_stuck
from swarm.leader.records import leader_record
from swarm.leader.report import write_report
from swarm.leader.teammates import Teammates
from swarm.leader.uncommitted import loose_files, undone_commits
from swarm.permissions.modes import PLAN
from swarm.settings import Settings
from swarm.storage.processes import new_run
from swarm.storage.team import Team
from swarm.teamfile.reader import LoadedTeamFile, MemberSpec, members

_TICK_SECONDS = 0.1


class Watcher(Protocol):
    """Somebody who looks on while a run goes: a live view or plain lines."""

    def look(self) -> None:
        """Show what is there now; called about ten times a second, must return at once."""


class Run:
    """Drives one run; `interrupt` may be called from a signal handler of the same loop."""

    def __init__(
        self,
        team: Team,
        loaded: LoadedTeamFile,
        options: RunOptions,
        settings: Settings,
        backend: Backend,
        earlier: Earlier | None = None,
        *,
        hurry: Event | None = None,
    ) -> None:
        self.team = team
        self.run = earlier.run if earlier else new_run()
        self._earlier = earlier
        self._loaded = loaded
        self._options = options
        self._settings = settings
        self._backend = backend
        self._leader_run_id = earlier.leader_run_id if earlier else make_run_id(self.run, LEADER, 1)
        self._mode = mode_to_lead_with(loaded, options, team)
        specs = [self._spec(position, member) for position, member in enumerate(members(loaded.team))]
        if earlier:
            specs = earlier.in_order([earlier.spec_of(spec, self._mode) for spec in specs])
        self._teammates = Teammates(team, backend, specs, mode=self._mode)
        workspace, home = os.path.realpath(loaded.workspace), options.environ.get("HOME", "")
        self._asked = AskedOfTheRun(team, loaded.team.permissions.answers, workspace, home)
        self._started = time.monotonic()
        self._began = format_time(team.clock.now())
        self._interrupts = 0
        self._is_over = False
        self._hurry = hurry or Event()
        self.left_open: str | None = None
        self._timed_out = False
        self._budget_spent = False
        self._next_sweep = 0.0
        self._mark: object = None
        self._next_heartbeat = 0.0

    def interrupt(self) -> None:
        """Ask once for an orderly end; the second time everything is cancelled at once.

        Whoever asks when all is done but tidying up cuts that short, and the outcome stays.
        """
        self._interrupts += 1
        if self._interrupts > 1 or self._is_over:
            self._hurry.set()
        self._teammates.ask_to_stop()

    async def to_the_end(self, watcher: Watcher) -> RunResult:
        """Start the teammates, wait until nothing is left that could be done, stop them, report."""
        self._register_leader("working")
        self.team.roster.update_member(LEADER, permission_mode=self._mode)
        self.team.events.emit(
            "run_started",
            LEADER,
            run_id=self._leader_run_id,
            run=self.run,
            backend=self._backend.name,
            mode=self._mode,
            file=None if self._earlier else os.path.abspath(self._loaded.path),
        )
        try:
            await self._start()
            await self._watch(watcher)
        except BaseException:
            await self._stop_all()
            self._register_leader("stopped", reason="failed")
            await self._tidy_up()
            raise
        await self._stop_all()
        watcher.look()
        result = self._finish()
        await self._tidy_up()
        return result

    async def _start(self) -> None:
        """Start all teammates; who was asked to stop before it was ready may not come up."""
        if self._earlier and all_finished(self.team.tasks(LEADER).table()):
            return
        try:
            await self._teammates.start(self._earlier.living if self._earlier else ())
        except BackendError:
            if not self._interrupts:
                raise

    def _spec(self, position: int, member: MemberSpec) -> TeammateSpec:
        options = self._options
        rules = (options.rules, rules_of_file(self._loaded.team), *options.settings.rules)
        plans = member.permission_mode == PLAN  # which an option for all does not take from it
        asked = PLAN if plans else options.permission_mode or member.permission_mode or self._mode
        return TeammateSpec(
            root=self.team.root,
            team=self.team.name,
            name=member.name,
            role=member.role,
            run_id=make_run_id(self.run, member.name, 1),
            leader_run_id=self._leader_run_id,
            workspace=os.path.realpath(self._loaded.workspace),
            model=member.model,
            fallback_model=self._loaded.team.fallback_model,
            permission_mode=inherited(asked, self._mode),
            color=color_for(position),
            backend=self._backend.name,
            rules=tuple(one for one in rules if one),
            environ=options.environ,
            time_scale=float(options.environ.get("SWARM_TIME_SCALE", "1")),
            pace_seconds=options.pace_seconds,
            headless=options.headless,
            mode_after_plan=after_plan(self._mode),
        )

    # Watch

    async def _watch(self, watcher: Watcher) -> None:
        store = self.team.tasks(LEADER)
        await asyncio.to_thread(store.rewrite_if_long)
        while not self._interrupts:
            self._beat()
            await self._sweep()
            changed = store.change_mark()
            if changed != self._mark:
                self._mark = changed
                self._teammates.hint()
            self._read_mail()
            await self._teammates.look_after()
            is_asked = self._asked.look()
            watcher.look()
            if not is_asked and self._has_nothing_left():
                return
            limit = self._options.timeout_seconds
            if limit is not None and time.monotonic() - self._started > limit:
                self._timed_out = True
                return
            await asyncio.sleep(_TICK_SECONDS)

    def _has_nothing_left(self) -> bool:
        """Tell whether nothing will happen any more; who has no money for its next call does nothing."""
        table, costs = self.team.tasks(LEADER).table(), self.team.costs.table()
        if all_finished(table) or not self._goes_on(table, frozenset()):
            return True
        records = {record.name: record for record in self.team.agents.list_agents()} if costs.limit else {}
        short = frozenset(name for name, record in records.items() if costs.is_short(record.run_id))
        self._budget_spent = not self._goes_on(table, short)
        return self._budget_spent

    def _goes_on(self, table: TaskTable, without: frozenset[str]) -> bool:
        alive = [member for member in self._teammates.alive() if member.name not in without]
        return can_progress(table, alive) or can_progress(table, [*alive, *self._teammates.coming()])

    async def _sweep(self) -> None:
        """Notice now and then, and first of all, what other hands did to the task files."""
        if time.monotonic() >= self._next_sweep:
            self._next_sweep = time.monotonic() + self._settings.idle_sweep_seconds
            await asyncio.to_thread(self.team.tasks(LEADER).sweep)

    def _read_mail(self) -> None:
        """Acknowledge what came for the leader: a run without a leader's model keeps it in the history."""
        inbox = self.team.inbox(LEADER)
        waiting = inbox.peek()
        if waiting:
            inbox.acknowledge([message.msg_id for message in waiting])

    # End

    async def _stop_all(self) -> None:
        await self._teammates.stop(lambda: self._interrupts > 1)
        self._asked.look()
        self._read_mail()

    async def _tidy_up(self) -> None:
        """Close what shows nothing any more. Nothing fails by it, and a terminal is not waited for long."""
        self._is_over = True
        tidying = asyncio.ensure_future(self._close_panes())
        await asyncio.wait([tidying], timeout=self._settings.stop_timeout_seconds)
        self._hurry.set()
        self.left_open = await tidying

    async def _close_panes(self) -> str | None:
        try:
            await self._backend.cleanup()
        except SwarmError as error:
            return error.message
        return await asyncio.to_thread(close_leftovers, self.team, self._options.environ, hurry=self._hurry)

    def _finish(self) -> RunResult:
        store = self.team.tasks(LEADER)
        gone = why_gone(self.team)
        stuck = why_stuck(store.table(), budget_spent=self._budget_spent, gone=gone)
        tasks = tuple(task.replace(reason=task.reason or stuck.get(task.id)) for task in store.list_tasks())
        commits = [task.result.commit for task in tasks if task.result and task.result.commit]
        denied = denied_requests(self.team)
        read, written = used_tokens(self.team, self.run)
        result = RunResult(
            team=self.team.name,
            run=self.run,
            outcome=decide_outcome(
                tasks,
                denied,
                interrupted=self._interrupts > 0,
                timed_out=self._timed_out,
                budget_spent=self._budget_spent,
            ),
            elapsed_seconds=time.monotonic() - self._started,
            backend=self._backend.name,
            tasks=tasks,
            denied=denied,
            input_tokens=read,
            output_tokens=written,
            report=self.team.layout.report,
            spending=spending_of(self.team.costs.table()),
            gone=gone,
            questions=self.team.permissions.list_resolved(),
            began=self._began,
            loose=loose_files(self.team),
            undone=undone_commits(self.team, commits),
        )
        write_report(self.team, result)
        self.team.events.emit(
            "run_ended", LEADER, run_id=self._leader_run_id, run=self.run, outcome=result.outcome
        )
        self._register_leader("stopped", reason="asked")
        return result

    # The leader's own record

    def _register_leader(self, state: str, reason: str | None = None) -> None:
        now = self.team.clock.now()
        self.team.agents.save(leader_record(self._leader_run_id, self._backend.name, state, now, reason))

    def _beat(self) -> None:
        now = time.monotonic()
        if now >= self._next_heartbeat:
            self._next_heartbeat = now + self._settings.heartbeat_seconds
            self.team.agents.update(LEADER, heartbeat=format_time(self.team.clock.now()))
