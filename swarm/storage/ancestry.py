"""Below whose commands this process runs: looked for among the processes above it.

What a command says of itself it can unsay, by `env -i` for instance; the shell that runs it still says it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from swarm.storage.team import Team


def find_agent_above(team: Team) -> str | None:
    """Return the agent of this team that has started us; None where nothing is to be seen of one.

    Nothing is seen of one whose shell has ended or become this command, and outside of Linux.
    """
    for environ in _environments_above():
        root = environ.get("CLAUDE_CONFIG_DIR", "")
        same_root = root and os.path.realpath(root) == os.path.realpath(team.root)
        if same_root and environ.get("SWARM_TEAM") == team.name and environ.get("SWARM_AGENT"):
            return environ["SWARM_AGENT"]
    return None


def _environments_above() -> Iterator[Mapping[str, str]]:
    """Yield what each process above this one was started with, as far as that may be read."""
    pid: int | None = os.getppid()
    while pid:
        yield _environment(pid)
        pid = _parent(pid)


def _environment(pid: int) -> Mapping[str, str]:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            pairs = os.fsdecode(file.read()).split("\0")
    except OSError:
        return {}
    return {name: value for name, _, value in (pair.partition("=") for pair in pairs)}


def _parent(pid: int) -> int | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        return None
