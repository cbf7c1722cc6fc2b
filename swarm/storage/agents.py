"""`agents/<name>.json`: what is known of each agent's process. One writer at a time, under its lock."""

from __future__ import annotations

from typing import Any

from swarm.core.agent import AgentRecord, parse_agent, render_agent
from swarm.core.identity import agent_of_run, is_later_life
from swarm.core.ports import Clock
from swarm.core.times import format_time
from swarm.errors import CorruptStateError, NotFoundError
from swarm.settings import Settings
from swarm.storage import files, processes, syscalls
from swarm.storage.layout import TeamLayout
from swarm.storage.lock import FileLock


class AgentStore:
    """The process records of one team. Reading needs no lock: a record is replaced by rename."""

    def __init__(self, layout: TeamLayout, settings: Settings, clock: Clock) -> None:
        self._layout = layout
        self._settings = settings
        self._clock = clock

    def load(self, name: str) -> AgentRecord | None:
        """Return an agent's record; None before its first spawn."""
        path = self._layout.agent(name)
        found = files.find_object(path)
        if found is None:
            return None
        try:
            return parse_agent(found)
        except ValueError as error:
            raise CorruptStateError(path, str(error)) from error

    def save(self, record: AgentRecord) -> None:
        """Replace an agent's record, whoever it was written by."""
        with self._lock(record.name):
            files.remove_drafts(self._layout.agent(record.name))
            self._write(record)

    def begin_life(self, record: AgentRecord) -> bool:
        """Write the record of a life that begins; False, and nothing changes, when somebody else was first.

        That is when this very life has begun already, or a later one, or another one lives.
        """
        with self._lock(record.name):
            before = self._find(record.name)
            if before is not None and _was_first(before, record):
                return False
            files.remove_drafts(self._layout.agent(record.name))
            self._write(record)
        return True

    def _find(self, name: str) -> AgentRecord | None:
        """Return the record if there is one that can be read; one that is damaged is as good as none."""
        try:
            return self.load(name)
        except CorruptStateError:
            return None

    def update(self, name: str, **changes: Any) -> AgentRecord:
        """Change fields of a record and return it; `no_such_agent` when there is none yet."""
        with self._lock(name):
            record = self.load(name)
            if record is None:
                raise NotFoundError(
                    f"agent {name} was never started in team {self._layout.team}",
                    code="no_such_agent",
                    details={"value": name, "valid": list(self.names())},
                )
            record = record.replace(**changes)
            self._write(record)
        return record

    def update_life(self, run_id: str, **changes: Any) -> AgentRecord | None:
        """Change fields of the record of one life and return it.

        None, and nothing is changed, when the record is another life's by now, or says that this one has
        ended: a process that was given up and goes on must not speak for the one that took its place.
        """
        name = agent_of_run(run_id)
        with self._lock(name):
            record = self.load(name)
            if record is None or record.run_id != run_id or record.state == "stopped":
                return None
            record = record.replace(**changes)
            self._write(record)
        return record

    def end_life(self, run_id: str, reason: str) -> bool:
        """Write down that a life is over which could not do so itself; return whether we were the first."""
        at = format_time(self._clock.now())
        nothing: dict[str, Any] = dict.fromkeys(("until", "on", "task", "session"))
        ended = self.update_life(run_id, state="stopped", since=at, reason=reason, tools=(), **nothing)
        return ended is not None

    def list_agents(self) -> tuple[AgentRecord, ...]:
        """Return all records by name."""
        found = (self.load(name) for name in self.names())
        return tuple(record for record in found if record is not None)

    def names(self) -> list[str]:
        """Return the names of all agents that have a record, readable or not."""
        entries = syscalls.list_folder(self._layout.agents_dir)
        return sorted(e.removesuffix(".json") for e in entries if e.endswith(".json") and e[0] != ".")

    def _write(self, record: AgentRecord) -> None:
        files.write_json(self._layout.agent(record.name), render_agent(record))

    def _lock(self, name: str) -> FileLock:
        return FileLock(
            self._layout.lock(f"agent-{name}"), self._settings, self._clock, f"{name}@{self._layout.team}"
        )


def _was_first(before: AgentRecord, record: AgentRecord) -> bool:
    if before.run_id == record.run_id or is_later_life(before.run_id, record.run_id):
        return True
    return before.state != "stopped" and processes.liveness(before) == "alive"
