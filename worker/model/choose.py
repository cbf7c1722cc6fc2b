"""Which model an agent uses."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from swarm.core.task import Task
from swarm.errors import ConfigError
from swarm.settings import SCRIPTED_MODEL
from worker.model.port import Model

if TYPE_CHECKING:
    from swarm.teamfile.model import ScriptTurn

ModelFor = Callable[[Task, str], Model]
"""Returns the model for one session (the second argument) of this task."""


def check_model(name: str) -> None:
    """Refuse a model that this version lacks, as `not_built`. Imports no model."""
    if name != SCRIPTED_MODEL:
        raise ConfigError(
            f"the model {name!r} cannot be used yet; use {SCRIPTED_MODEL!r}",
            code="not_built",
            details={"value": name, "valid": [SCRIPTED_MODEL]},
        )


def choose_model(name: str, *, team_file: str, pace_seconds: float) -> ModelFor:
    """Return how to get the model of this name for a session; see `check_model`."""
    check_model(name)
    from worker.model.scripted import ScriptedModel

    def scripted(task: Task, session: str) -> Model:
        return ScriptedModel(
            _script_of(task, team_file), id_prefix=f"toolu_{session}", pace_seconds=pace_seconds
        )

    return scripted


def _script_of(task: Task, team_file: str) -> tuple[ScriptTurn, ...]:
    if task.key is None or not os.path.exists(team_file):
        return ()
    from swarm.teamfile.reader import script_for

    return script_for(team_file, task.key)
