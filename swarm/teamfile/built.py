"""What a team file may say, but this version does not do yet: refused by name, never ignored."""

from __future__ import annotations

from collections.abc import Iterator

from swarm.settings import SCRIPTED_MODEL
from swarm.teamfile.model import TeamFile
from swarm.teamfile.problems import Path, Problem


def find_unbuilt(team: TeamFile) -> Iterator[Problem]:
    """Everything in this file that is not built."""
    yield from _unbuilt_models(team)
    if team.isolation == "worktree":
        yield _not_built("worktrees are not built yet; set isolation: shared", ("isolation",), "worktree")
    for position, teammate in enumerate(team.teammates):
        if teammate.agent is not None:
            message = f"agent types are not built yet ({teammate.agent}); leave agent out"
            yield _not_built(message, ("teammates", position, "agent"), teammate.agent)


def _unbuilt_models(team: TeamFile) -> Iterator[Problem]:
    """All models but the scripted one. Lifting this function is all that another model needs here."""
    given: list[tuple[Path, str | None]] = [(("model",), team.model)]
    given += [(("teammates", position, "model"), mate.model) for position, mate in enumerate(team.teammates)]
    for path, model in given:
        if model is not None and model != SCRIPTED_MODEL:
            use = f"set model: {SCRIPTED_MODEL} and give each task a script"
            yield _not_built(f"this version plays scripts only, {model} cannot work yet; {use}", path, model)


def _not_built(message: str, path: Path, value: str) -> Problem:
    return Problem(message=message, path=path, code="not_built", details={"value": value})
