"""The teammates of one run: their start, what becomes of those that die, and their end."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from swarm.backends.port import Backend
from swarm.core.agent import AgentRecord
from swarm.core.identity import LEADER, make_run_id, parse_run_id
from swarm.core.roster import Member
from swarm.core.spawn import TeammateSpec
from swarm.errors import StateError, SwarmError
from swarm.leader.ending import end_agents
from swarm.leader.inheritance import inherited, with_own
from swarm.leader.spawning import begin, is_being_started, is_starting, start_teammates
from swarm.permissions.modes import MODES_BUILT
from swarm.storage.dead import DeadLife, find_dead_lives, free_claims_of, free_dead_claims, is_due
from swarm.storage.processes import liveness
from swarm.storage.team import Team
from swarm.workspace.leftovers import end_leftovers, end_marked

logger = logging.getLogger(__name__)

_LOOK_SECONDS = 0.1
_TOO_LATE = "it did not stop in time and was killed"


class Teammates:
    """Starts them, and puts a new life in the place of one that died. At most one life of each at a time.

    `mode` is the leader's: no life that is started here has a looser one.
    """

    def __init__(
        self, team: Team, backend: Backend, specs: Sequence[TeammateSpec], *, mode: str | None = None
    ) -> None:
        self._team = team
        self._backend = backend
        self._mode = mode
        self._specs = {spec.name: spec for spec in specs}
        self._lives: list[str] = []
        self._watched: list[str] = []
        self._restarts = dict.fromkeys(self._specs, 0)
        self._undecided: dict[str, float] = {}
        self._ready_by: dict[str, float] = {}

    async def start(self, living: Sequence[AgentRecord] = ()) -> None:
        """Start all but the `living` and wait until each is ready; a BackendError names one that is not.

        The living are taken over where that can be; else they are left as somebody else's.
        """
        here = {record.name for record in living}
        self._watched += [
            record.name for record in living if record.name in self._specs and self._backend.adopt(record)
        ]
        specs = [spec for spec in self._specs.values() if spec.name not in here]
        self._lives += [spec.run_id for spec in self._specs.values()]
        self._watched += [spec.name for spec in specs]
        await start_teammates(self._team, self._backend, specs)

    def hint(self) -> None:
        """Tell them that the team's files have changed."""
        self._backend.hint()

    def ask_to_stop(self) -> None:
        """Ask all to stop; `stop` waits for it."""
        for name in self._backend.list_alive():
            self._backend.ask_to_stop(name)

    def alive(self) -> list[Member]:
        """Return those that may still take a task, also the ones that somebody else has started."""
        members = (member for member in self._team.roster.load().members if member.name != LEADER)
        return [member for member in members if self._is_alive(member.name)]

    def _is_alive(self, name: str) -> bool:
        if self._backend.is_alive(name):
            return True
        record = self._team.agents.load(name)
        if record is None or record.state == "stopped" or record.pid == os.getpid():
            return False
        return liveness(record) == "alive"

    def coming(self) -> list[Member]:
        """Return those that a person is starting, or ends to start them anew, at this moment."""
        members = (member for member in self._team.roster.load().members if member.name != LEADER)
        return [member for member in members if is_being_started(self._team, member.name)]

    # Those that die

    async def look_after(self) -> None:
        """Free what dead agents held and start them anew, for as often as the settings allow.

        Who was started beside the run, by a person, belongs to it from then on.
        """
        with suppress(StateError):  # files that cannot be used now: the next look may do better
            for member in self._team.roster.load().members:
                if member.name not in (LEADER, *self._watched):
                    self._welcome(member)
            for name in [name for name in self._watched if not self._backend.is_alive(name)]:
                await self._take_over(name)
            for name in [name for name, due in self._ready_by.items() if time.monotonic() > due]:
                del self._ready_by[name]
                if is_starting(self._team, self._specs[name]):
                    await self._backend.kill(timeout=self._kill_wait, names=[name])
            if is_due(self._team) and find_dead_lives(self._team, LEADER):
                await asyncio.to_thread(free_dead_claims, self._team, self._end_tools, LEADER)

    def _welcome(self, member: Member) -> None:
        """Take over a life of this member that somebody else has begun."""
        record = self._team.agents.load(member.name)
        if record is None or record.run_id in self._lives or not self._backend.adopt(record):
            return
        like = self._specs.get(member.name, next(iter(self._specs.values())))
        known = member.permission_mode in MODES_BUILT
        asked = member.permission_mode if member.permission_mode and known else like.permission_mode
        self._specs[member.name] = like.replace(
            name=member.name,
            role=member.role,
            run_id=record.run_id,
            model=member.model or like.model,
            color=member.color,
            permission_mode=inherited(asked, self._mode),
            rules=with_own(like.rules, member),
            backend=record.backend,
        )
        self._lives.append(record.run_id)
        self._restarts.setdefault(member.name, 0)
        self._watched.append(member.name)

    async def _take_over(self, name: str) -> None:
        """Do what the end of a teammate asks for; that one of ours is dead the backend knows first."""
        spec, record = self._specs[name], self._team.agents.load(name)
        await self._free(spec, record)
        died = self._died(spec, record)
        if died is None and time.monotonic() < self._undecided.setdefault(name, self._in_a_while()):
            return
        self._undecided.pop(name, None)
        self._watched.remove(name)
        if died:
            await self._restart(spec)

    async def _free(self, spec: TeammateSpec, record: AgentRecord | None, why: str | None = None) -> bool:
        """Free what a teammate held, and tell whether it had ended without a word or with a task in hand."""
        if record is None or record.run_id != spec.run_id:
            return False
        if record.state == "stopped" and not self._team.tasks(LEADER).table().in_progress_of(spec.name):
            return False
        failure = why or await asyncio.to_thread(self._backend.failure, spec.name)  # a terminal may be slow
        reason = f"{spec.name} ended unexpectedly" + (f": {failure}" if failure else "")
        dead = DeadLife(record=record, reason=reason)
        await asyncio.to_thread(free_claims_of, self._team, dead, self._end_tools, LEADER)
        return True

    def _died(self, spec: TeammateSpec, record: AgentRecord | None) -> bool | None:
        """Whether a new life would do better: not after an orderly end, nor after a fault of this process.

        Whoever ends a teammate for a person writes that it has stopped before it kills; who finds it dead
        writes the same, and that it died. None as long as there is neither the one word nor the other.
        """
        if record is None or record.run_id != spec.run_id or record.pid == os.getpid():
            return False
        if record.state != "stopped":
            return spec.backend != "in-process"
        if record.reason != "killed":
            return False
        told = [event.event for _, event in self._team.events.read() if event.run_id == spec.run_id]
        if "agent_died" in told:
            return True
        return False if "agent_stopped" in told else None

    async def _restart(self, spec: TeammateSpec) -> None:
        """Start the next life; one that cannot be started counts as one that died at once."""
        while self._restarts[spec.name] < self._team.settings.restarts_max:
            self._restarts[spec.name] += 1
            life = parse_run_id(spec.run_id)
            spec = spec.replace(run_id=make_run_id(life.run, spec.name, int(life.life) + 1))
            self._specs[spec.name] = spec
            self._lives.append(spec.run_id)
            try:
                await begin(self._team, self._backend, spec)
            except SwarmError as error:
                facts = {"swarm_agent": spec.name, "swarm_error": str(error)}
                logger.warning("not started anew", extra=facts)
                if error.code != "agent_alive":
                    continue
                self._lives.remove(spec.run_id)  # somebody else was first: welcome at the next look
                return
            self._watched.append(spec.name)
            self._ready_by[spec.name] = time.monotonic() + self._team.settings.ready_timeout_seconds
            return
        logger.error("given up, as it has died too often", extra={"swarm_agent": spec.name})

    def _in_a_while(self) -> float:
        return time.monotonic() + self._kill_wait

    @property
    def _kill_wait(self) -> float:
        return self._team.settings.stop_timeout_seconds

    def _end_tools(self, life: AgentRecord) -> None:
        end_leftovers(life, wait=self._team.settings.bash_kill_wait_seconds)

    # The end

    async def stop(self, in_a_hurry: Callable[[], bool]) -> None:
        """Ask all to stop, kill who is late, or all at once when in a hurry; free what they held.

        Nothing of what they have started outlives this, in the background or in a session of its own.
        """
        stopping = asyncio.ensure_future(self._backend.stop(timeout=self._kill_wait))
        while not stopping.done():
            if in_a_hurry():
                await self._backend.kill(timeout=self._kill_wait)
            await asyncio.wait([stopping], timeout=_LOOK_SECONDS)
        late = stopping.result()
        await self._stop_others()
        await asyncio.to_thread(self._end_leftovers)
        with suppress(StateError):
            for name in self._watched:
                why = _TOO_LATE if name in late else None
                freed = await self._free(self._specs[name], self._team.agents.load(name), why)
                if why and not freed:
                    self._team.events.emit("agent_died", name, run_id=self._specs[name].run_id, reason=why)

    async def _stop_others(self) -> None:
        """End those that somebody else has started: without its leader a team does not go on."""
        others = [member.name for member in self.alive() if not self._backend.is_alive(member.name)]
        for name in [*others, *self._dead_others()]:
            try:
                await asyncio.to_thread(
                    end_agents, self._team, [name], by=LEADER, timeout=self._kill_wait, force=False
                )
            except SwarmError as error:  # on another host, for instance: it finds its leader gone
                facts = {"swarm_agent": name, "swarm_error": str(error)}
                logger.warning("not ended", extra=facts)

    def _dead_others(self) -> list[str]:
        """Return those of somebody else that died without a word, which nobody has written down yet."""
        with suppress(StateError):
            records = self._team.agents.list_agents()
            others = [one for one in records if one.name not in (LEADER, *self._watched)]
            return [one.name for one in others if one.state != "stopped" and liveness(one) == "dead"]
        return []

    def _end_leftovers(self) -> None:
        for run_id in self._lives:
            end_marked(run_id, wait=self._team.settings.bash_kill_wait_seconds)
