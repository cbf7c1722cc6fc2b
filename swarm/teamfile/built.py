"""What a team file may say, but this version does not do yet: refused by name, never ignored."""

from __future__ import annotations

from collections.abc import Iterator

from swarm.teamfile.model import TeamFile
from swarm.teamfile.problems import Path, Problem


def find_unbuilt(team: TeamFile) -> Iterator[Problem]:
    """Everything in this file that is not built."""
    if team.isolation == "worktree":
        yield _not_built("worktrees are not built yet; set isolation: shared", ("isolation",), "worktree")
    for position, teammate in enumerate(team.teammates):
        if teammate.agent is not None:
            message = f"agent types are not built yet ({teammate.agent}); leave agent out"
            yield _not_built(message, ("teammates", position, "agent"), teammate.agent)


def _not_built(message: str, path: Path, value: str) -> Problem:
    return Problem(message=message, path=path, code="not_built", details={"value": value})
