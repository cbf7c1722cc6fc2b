"""The backend that was chosen, made for one team; the command line is the one place that knows the worker."""

from __future__ import annotations

from swarm.backends.port import Backend
from swarm.storage.team import Team


def make_backend(name: str, team: Team) -> Backend:
    """Return the backend of this name; `select_backend` has said that it can be used."""
    if name == "process":
        from swarm.backends.process import ProcessBackend

        return ProcessBackend(team)
    from swarm.backends.in_process import InProcessBackend
    from worker.main import run_teammate

    return InProcessBackend(run_teammate, limit=team.settings.in_process_teammates_max)
