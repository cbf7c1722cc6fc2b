"""The agent's own record on disk: what it is doing and that it is alive."""

from __future__ import annotations

import logging
import os
from typing import Any

from swarm.core.agent import AgentRecord
from swarm.core.identity import is_later_life
from swarm.core.permission import is_plan_request
from swarm.core.spawn import TeammateSpec
from swarm.core.times import format_time
from swarm.errors import CorruptStateError, SwarmError
from swarm.storage import processes
from swarm.storage.team import Team

logger = logging.getLogger(__name__)


class Presence:
    """Writes `agents/<name>.json`. A write that fails is made good by the next, at the latest a heartbeat.

    Once it has the record it writes as long as the record is this life's: see `is_current`.
    """

    def __init__(self, team: Team, spec: TeammateSpec) -> None:
        self._team = team
        self._spec = spec
        self._state: dict[str, Any] = {}
        self._before: dict[str, Any] | None = None
        self._identity: dict[str, Any] = {"run_id": spec.run_id}
        self._has_record = False
        self._is_ready = False
        self._of = self._find_team()

    def ready(self) -> None:
        """Say who this life is and that it is there. The spawner's record is kept where it says more.

        Said once: repeats do nothing.
        """
        if self._is_ready:
            return
        self._is_ready = True
        self._set("idle", reason="no_task")
        self._identity = {
            "run_id": self._spec.run_id,
            "host": processes.host(),
            "boot_id": processes.boot_id(),
            "pid_ns": processes.pid_ns(),
            "pid": os.getpid(),
            "start_ticks": processes.own_start_ticks(),
            "started_at": self._now(),
            "tools": (),
        }
        self._has_record = False
        self._write()
        self._emit("agent_ready", backend=self._spec.backend)

    @property
    def watches_leader(self) -> bool:
        """Whether this life has a leader in another process, without which it ends."""
        return self._spec.leader_run_id is not None and self._spec.backend != "in-process"

    def is_current(self) -> bool:
        """Whether the record is still this life's: it is not when we were given up, or replaced by another.

        Such a life takes no task any more, since its claims would be freed as those of a dead one. Neither
        does one whose team's folders went, or came back as another team's of the same name.
        """
        try:
            record = self._team.agents.load(self._spec.name)
        except CorruptStateError:
            return True
        if not self._has_record:
            return True
        if record is None:
            return self._find_team() == self._of
        return record.run_id == self._spec.run_id and record.state != "stopped"

    def working(self, task_id: str | None, session: str) -> None:
        """Say that a session goes on, about this task or about mail."""
        self._set("working", task=task_id, session=session)
        self._write()

    def idle(self, reason: str, on: str | None) -> None:
        self._set("idle", reason=reason, on=on)
        self._write()

    def held(self, reason: str) -> None:
        """Say that the agent is held back, by a person or the lack of a leader, with what it has in hand."""
        kept = {key: self._state.get(key) for key in ("task", "session")}
        self._before = self._before or self._state
        if reason == "paused":
            self._set("paused", **kept)
        else:
            until = self._team.clock.now() + self._team.settings.orphan_grace_seconds
            self._set("waiting", reason=reason, until=format_time(until), **kept)
        self._write()
        if reason == "paused":
            self._emit("agent_paused", task=kept["task"])
        else:
            self._emit("agent_waiting", task=kept["task"], reason=reason)

    def waits(self, reason: str, seconds: float) -> None:
        """Say that the agent waits for so long and then goes on by itself with what it has in hand."""
        kept = {key: self._state.get(key) for key in ("task", "session")}
        self._before = self._before or self._state
        self._set("waiting", reason=reason, until=format_time(self._team.clock.now() + seconds), **kept)
        self._write()

    def asks(self, on: str, until: str) -> None:
        """Say that the agent waits for a person's answer to this question, with what it has in hand."""
        kept = {key: self._state.get(key) for key in ("task", "session")}
        self._before = self._before or self._state
        reason = "plan" if is_plan_request(on) else "permission"
        self._set("waiting", reason=reason, on=on, until=until, **kept)
        self._write()

    def goes_on(self) -> None:
        """Say that the agent goes on with what it did before it was held."""
        before, self._before = self._before, None
        if before is None:
            return
        facts = {key: value for key, value in before.items() if key not in ("state", "since")}
        self._set(before["state"], **facts)
        self._write()
        self._emit("agent_continued", task=before.get("task"))

    def orphaned(self) -> None:
        """Say that nobody came to lead again: the agent gives back what it has and ends."""
        kept = {key: self._state.get(key) for key in ("task", "session")}
        self._set("orphaned", **kept)
        self._write()
        self._emit("agent_orphaned", task=kept["task"])

    def stopped(self, reason: str, why: str | None = None) -> None:
        """Say why this life has ended, if there is still somebody who waits for it; `why` in a sentence."""
        current = self._is_current_now()
        self._set("stopped", reason=reason)
        self._write(tools=(), why=why)
        if current:
            self._emit("agent_stopped", reason=reason, **({} if why is None else {"why": why}))

    async def beat(self) -> None:
        """Give a sign of life every few seconds until cancelled."""
        import asyncio  # late: a process is ready before it has a loop

        while True:
            await asyncio.sleep(self._team.settings.heartbeat_seconds)
            self._write()

    def _set(self, state: str, **facts: str | None) -> None:
        since = self._state.get("since") if self._state.get("state") == state else None
        nothing = dict.fromkeys(("reason", "until", "on", "task", "session"))
        self._state = {**nothing, "state": state, "since": since or self._now(), **facts}

    def _write(self, **more: Any) -> None:
        changes = {**self._state, "heartbeat": self._now(), **more}
        try:
            if self._has_record:
                self._team.agents.update_life(self._spec.run_id, **changes)
            else:
                self._take_record(changes)
        except SwarmError as error:
            logger.warning("agent record not written", extra={"swarm_error": str(error)})

    def _take_record(self, changes: dict[str, Any]) -> None:
        """Make the agent's record this life's, unless a later one has it already."""
        agents, run_id = self._team.agents, self._spec.run_id
        found = agents.load(self._spec.name)
        if found is None:
            agents.save(_bare_record(self._spec, self._now()))
        elif is_later_life(found.run_id, run_id):
            self._has_record = True  # we had our time; what is there is not ours to write
            return
        agents.update(self._spec.name, **self._identity, **changes)
        self._has_record = True

    def _is_current_now(self) -> bool:
        try:
            return self.is_current()
        except SwarmError:
            return True

    def _find_team(self) -> str | None:
        """Return what tells this team from a later one of the same name; None when it cannot be read."""
        try:
            return self._team.roster.load().lead_session_id
        except SwarmError:
            return None

    def _emit(self, kind: str, **data: Any) -> None:
        try:
            self._team.events.emit(kind, self._spec.name, run_id=self._spec.run_id, **data)
        except SwarmError as error:
            logger.warning("event not written", extra={"swarm_event": kind, "swarm_error": str(error)})

    def _now(self) -> str:
        return format_time(self._team.clock.now())


def _bare_record(spec: TeammateSpec, now: str) -> AgentRecord:
    return AgentRecord(
        name=spec.name,
        run_id=spec.run_id,
        backend=spec.backend,
        leader=spec.leader_run_id,
        state="starting",
        since=now,
    )
