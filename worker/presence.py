"""The agent's own record on disk: what it is doing and that it is alive."""

from __future__ import annotations

import asyncio
import logging
import os
from typing import Any

from swarm.core.agent import AgentRecord
from swarm.core.spawn import TeammateSpec
from swarm.core.times import format_time
from swarm.errors import SwarmError
from swarm.storage import processes
from swarm.storage.team import Team

logger = logging.getLogger(__name__)


class Presence:
    """Writes `agents/<name>.json`. A write that fails is made good by the next, at the latest a heartbeat."""

    def __init__(self, team: Team, spec: TeammateSpec) -> None:
        self._team = team
        self._spec = spec
        self._state: dict[str, Any] = {}

    def ready(self) -> None:
        """Say who this life is and that it is there. The spawner's record is kept where it says more."""
        now = self._now()
        self._set("idle", reason="no_task")
        self._write(
            run_id=self._spec.run_id,
            host=processes.host(),
            boot_id=processes.boot_id(),
            pid_ns=processes.pid_ns(),
            pid=os.getpid(),
            start_ticks=processes.own_start_ticks(),
            started_at=now,
            tools=(),
        )
        self._emit("agent_ready", backend=self._spec.backend)

    def working(self, task_id: str, session: str) -> None:
        self._set("working", task=task_id, session=session)
        self._write()

    def idle(self, reason: str, on: str | None) -> None:
        self._set("idle", reason=reason, on=on)
        self._write()

    def stopped(self, reason: str) -> None:
        self._set("stopped", reason=reason)
        self._write(tools=())
        self._emit("agent_stopped", reason=reason)

    async def beat(self) -> None:
        """Give a sign of life every few seconds until cancelled."""
        while True:
            await asyncio.sleep(self._team.settings.heartbeat_seconds)
            self._write()

    def _set(self, state: str, **facts: str | None) -> None:
        since = self._state.get("since") if self._state.get("state") == state else None
        nothing = dict.fromkeys(("reason", "until", "on", "task", "session"))
        self._state = {**nothing, "state": state, "since": since or self._now(), **facts}

    def _write(self, **more: Any) -> None:
        try:
            if self._team.agents.load(self._spec.name) is None:
                self._team.agents.save(_bare_record(self._spec, self._now()))
            self._team.agents.update(self._spec.name, **self._state, heartbeat=self._now(), **more)
        except SwarmError as error:
            logger.warning("agent record not written", extra={"swarm_error": str(error)})

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
