"""`swarm attach`: a teammate before a person, in its pane if it has one, else by its log."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Mapping
from typing import Any

from swarm.cli.backends import find_backend_of
from swarm.cli.logs import logs
from swarm.cli.session import Io, only_for_people, the_team
from swarm.core.identity import LEADER
from swarm.errors import StateError
from swarm.leader.ending import is_over
from swarm.storage.team import Team


def attach(args: Mapping[str, Any], io: Io) -> int:
    """Bring the pane of a teammate to this terminal, or follow what it says; changes nothing of it."""
    only_for_people(io, "attach to teammates")
    team = the_team(args, io)
    name = team.roster.load().member(args["name"]).name if args["name"] is not None else _first(team, io)
    command = _command(team, name, io)
    if command is None:
        io.note(f"{name} has no pane; this is its log")
        return logs({**args, "name": name, "follow": not _is_gone(team, name)}, io)
    if not io.is_terminal():
        io.print(shlex.join(command))
        return 0
    io.flush()
    _show(command, name, io)
    return 0


def _first(team: Team, io: Io) -> str:
    """Return a living teammate, one with a pane if there is such."""
    names = [name for name in team.roster.load().names() if name != LEADER and not _is_gone(team, name)]
    if not names:
        raise StateError(
            f"no teammate of {team.name} is running; swarm logs NAME shows what one did",
            code="not_running",
            details={"agent": "", "state": "stopped"},
        )
    return next((name for name in names if _command(team, name, io) is not None), names[0])


def _command(team: Team, name: str, io: Io) -> tuple[str, ...] | None:
    backend = find_backend_of(team, name, io.environ)
    return None if backend is None else backend.show(name)


def _is_gone(team: Team, name: str) -> bool:
    record = team.agents.load(name)
    return record is None or is_over(record)


def _show(command: tuple[str, ...], name: str, io: Io) -> None:
    if subprocess.run(command, env=dict(io.environ), check=False).returncode == 0:
        return
    raise StateError(
        f"the terminal could not show {name}; its pane may be gone, swarm logs {name} shows what it does",
        code="io_error",
        details={"path": name, "errno": 0},
    )
