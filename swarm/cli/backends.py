"""The backend that was chosen, made for one team; the command line is the one place that knows the worker."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from swarm.backends.port import Backend
from swarm.storage.team import Team


def make_backend(name: str, team: Team, environ: Mapping[str, str]) -> Backend:
    """Return the backend of this name; `select_backend` has said that it can be used.

    `environ` says which terminal the leader runs in.
    """
    if name == "tmux":
        from swarm.backends.tmux import tmux_backend

        return tmux_backend(team, environ)
    if name == "iterm2":
        from swarm.backends.iterm2 import iterm2_backend

        return iterm2_backend(team, environ)
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
def cleaned_up(team: Team, names: Iterable[str], environ: Mapping[str, str]) -> Iterator[None]:
    """Close the panes of those teammates that live when this begins, and have ended when it is over."""
    backends = [found for name in names if (found := find_backend_of(team, name, environ)) is not None]
    try:
        yield
    finally:
        for backend in backends:
            asyncio.run(backend.cleanup())
