"""The backend that was chosen, made for one team; the command line is the one place that knows the worker."""

from __future__ import annotations

from collections.abc import Mapping

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
