"""The backend that was chosen, made for one team; the command line is the one place that knows the worker."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from threading import Event

from swarm.backends.port import Backend
from swarm.storage.team import Team


def make_backend(name: str, team: Team, environ: Mapping[str, str], hurry: Event | None = None) -> Backend:
    """Return the backend of this name; `select_backend` has said that it can be used.

    `environ` says which terminal the leader runs in. Once `hurry` is set nobody waits for a terminal.
    """
    if name == "tmux":
        from swarm.backends.tmux import tmux_backend

        return tmux_backend(team, environ, hurry)
    if name == "iterm2":
        from swarm.backends.iterm2 import iterm2_backend

        return iterm2_backend(team, environ, hurry)
    if name == "process":
        from swarm.backends.process import ProcessBackend

        return ProcessBackend(team)
    from swarm.backends.in_process import InProcessBackend
    from worker.main import run_teammate

    return InProcessBackend(run_teammate, limit=team.settings.in_process_teammates_max)


def find_backend_of(team: Team, name: str, environ: Mapping[str, str]) -> Backend | None:
    """Return a backend that has taken over this living teammate; None where it has no process of its own."""
    record = team.agents.load(name)
    if record is None or record.backend == "in-process":
        return None
    backend = make_backend(record.backend, team, environ)
    return backend if backend.adopt(record) else None


@contextmanager
def cleaned_up(team: Team, environ: Mapping[str, str], agents: Collection[str] | None) -> Iterator[None]:
    """Close the panes that these agents, or all, have had before this and in which nothing runs after it."""
    from swarm.backends.leftovers import Leftovers

    left = Leftovers(team, environ, agents)
    try:
        yield
    finally:
        left.close()
