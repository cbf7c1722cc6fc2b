"""How a teammate in a process of its own is started: the command, its environment, and its spawn file."""

from __future__ import annotations

import os
import sys
from functools import cache

import swarm
from swarm.core.spawn import TeammateSpec
from swarm.errors import BackendError
from swarm.storage.layout import TeamLayout
from swarm.storage.spawn_file import write_spawn_file
from swarm.values import Value
from swarm.workspace.environment import child_environment, told_environment

_INSTALLED = ("site-packages", "dist-packages")


class Start(Value):
    """Neither `argv` nor `environ` holds a secret; they are the whole command and the whole environment."""

    argv: tuple[str, ...]
    environ: dict[str, str]
    spawn_file: str
    log: str


def prepare_start(layout: TeamLayout, spec: TeammateSpec) -> Start:
    """Write the spawn file of this teammate and return what is to be run; it has to be run, or undone.

    `-P` keeps a `worker` folder in the workspace from being run in place of ours; UTF-8 is what names of
    files are in all records.
    """
    if not sys.executable:
        raise BackendError(f"{spec.name} was not started: Python does not know its own path", code="io_error")
    path = write_spawn_file(layout, spec.replace(environ=told_environment(spec.environ)))
    return Start(
        argv=(sys.executable, "-P", "-X", "utf8", "-m", "worker", path),
        environ=started_environment(spec),
        spawn_file=path,
        log=layout.log(spec.name),
    )


def started_environment(spec: TeammateSpec) -> dict[str, str]:
    """Return the environment in which the process starts; its run id marks all that belongs to this life."""
    environ = child_environment(
        spec.environ, root=spec.root, team=spec.team, agent=spec.name, run_id=spec.run_id, task=None
    )
    home = _home_of_packages()
    return environ if home is None else {**environ, "PYTHONPATH": home}


@cache
def _home_of_packages() -> str | None:
    """Return the folder that holds our packages if it is not one that Python searches by itself."""
    home = os.path.dirname(os.path.dirname(os.path.abspath(swarm.__file__)))
    return None if os.path.basename(home) in _INSTALLED else home
