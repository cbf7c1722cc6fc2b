"""What earlier lives of a team have left on a terminal: panes in which nothing runs, a server of its own."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from threading import Event

from swarm.backends.iterm2 import ItermTerminal
from swarm.backends.panes import Terminal
from swarm.backends.tmux import TmuxTerminal
from swarm.core.agent import AgentRecord
from swarm.errors import BackendError, StateError
from swarm.storage.processes import liveness
from swarm.storage.spawn_file import remove_spawn_file
from swarm.storage.team import Team

logger = logging.getLogger(__name__)


class Leftovers:
    """Remembers the panes of these agents, or of all, so that they can be closed after their records."""

    def __init__(
        self,
        team: Team,
        environ: Mapping[str, str],
        agents: Collection[str] | None = None,
        hurry: Event | None = None,
    ) -> None:
        timeout = team.settings.terminal_timeout_seconds
        self._team = team
        self._agents = agents
        self._records = tuple(_records(team))
        self._terminals: tuple[Terminal, ...] = (
            TmuxTerminal(team.name, team.root, environ, timeout=timeout, hurry=hurry),
            ItermTerminal(environ, timeout=timeout, hurry=hurry),
        )

    def close(self) -> str | None:
        """Close those panes whose program has ended, whoever has opened them, and what is empty then.

        Nothing fails by it: of a terminal that cannot be asked now the panes stay until the next time, and
        why is returned.
        """
        problem: str | None = None
        ended = [one for one in self._records if self._is_meant(one.name) and liveness(one) == "dead"]
        for record in ended:
            self._remove_spawn_file(record)
        for terminal in self._terminals:
            try:
                self._close_in(terminal, ended)
            except BackendError as error:
                facts = {"swarm_backend": terminal.name, "swarm_error": str(error)}
                logger.warning("panes left open", extra=facts)
                problem = error.message
        return problem

    def _is_meant(self, name: str) -> bool:
        return self._agents is None or name in self._agents

    def _remove_spawn_file(self, record: AgentRecord) -> None:
        """Remove what this life was to read at its start, unless its name is starting anew."""
        with suppress(StateError):
            now = self._team.agents.load(record.name)
            if now is not None and now.run_id == record.run_id:
                remove_spawn_file(self._team.layout, record.name)

    def _close_in(self, terminal: Terminal, ended: Sequence[AgentRecord]) -> None:
        for record in ended:
            if _is_in(terminal, record) and record.pid is not None:
                terminal.close(record.handle, record.pid)
        handles = [record.handle for record in self._records if _is_in(terminal, record)]
        terminal.sweep(handles, self._agents)


def _is_in(terminal: Terminal, record: AgentRecord) -> bool:
    return record.backend == terminal.name and terminal.knows(record.handle)


def close_leftovers(
    team: Team,
    environ: Mapping[str, str],
    agents: Collection[str] | None = None,
    hurry: Event | None = None,
) -> str | None:
    """Close the panes of these agents, or of all, in which nothing runs; see `Leftovers`."""
    return Leftovers(team, environ, agents, hurry).close()


def _records(team: Team) -> Iterator[AgentRecord]:
    """Yield the records that can be read: of a damaged one nothing is known."""
    with suppress(StateError):
        for name in team.agents.names():
            record = _find_record(team, name)
            if record is not None:
                yield record


def _find_record(team: Team, name: str) -> AgentRecord | None:
    try:
        return team.agents.load(name)
    except StateError:
        return None
