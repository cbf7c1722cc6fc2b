"""Which model an agent uses."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from swarm.core.task import Task
from swarm.settings import SCRIPTED_MODEL, Settings
from worker.model.access import check_access
from worker.model.meter import Meter
from worker.model.port import Model

if TYPE_CHECKING:
    from swarm.teamfile.model import ScriptTurn


class Models(Protocol):
    """The models of one agent's life."""

    def model_for(self, task: Task, session: str) -> Model:
        """Return the model for this session of this task."""
        ...

    def model_for_mail(self) -> Model | None:
        """Return the model that reads mail when there is no task; None when none does."""
        ...

    async def load(self) -> None:
        """Load what the first request would have to wait for."""
        ...

    async def close(self) -> None:
        """Drop what is open. No request is under way any more."""
        ...


def check_model(name: str, environ: Mapping[str, str]) -> None:
    """Refuse a model that cannot be asked from here, as `no_key`. Imports no model."""
    if name != SCRIPTED_MODEL:
        check_access(environ)


class ScriptedModels:
    """Plays the scripts of a team file: one player for each session."""

    def __init__(self, team_file: str, pace_seconds: float) -> None:
        self._team_file = team_file
        self._pace_seconds = pace_seconds

    def model_for(self, task: Task, session: str) -> Model:
        """Return what plays this task's script."""
        from worker.model.scripted import ScriptedModel

        script = _script_of(task, self._team_file)
        return ScriptedModel(script, id_prefix=f"toolu_{session}", pace_seconds=self._pace_seconds)

    def model_for_mail(self) -> Model | None:
        """Return None: a script is for a task."""
        return None

    async def load(self) -> None:
        """Do nothing: there is nothing to load."""

    async def close(self) -> None:
        """Do nothing: nothing is open."""


class LiveModels:
    """One model behind the Messages API, for the agent's whole life."""

    def __init__(
        self,
        name: str,
        environ: Mapping[str, str],
        settings: Settings,
        meter: Meter,
        fallback: str | None = None,
    ) -> None:
        from worker.model.connection import Connection
        from worker.model.live import LiveModel

        self._connection = Connection(environ, settings)
        self._model = LiveModel(name, self._connection, settings, meter, fallback)

    def model_for(self, task: Task, session: str) -> Model:
        """Return the same model for all: each request is complete in itself."""
        return self._model

    def model_for_mail(self) -> Model | None:
        """Return the same model."""
        return self._model

    async def load(self) -> None:
        """Import the SDK, in a thread."""
        await self._connection.load()

    async def close(self) -> None:
        """Close the connection."""
        await self._connection.close()


def _script_of(task: Task, team_file: str) -> tuple[ScriptTurn, ...]:
    if task.key is None or not os.path.exists(team_file):
        return ()
    from swarm.teamfile.reader import script_for

    return script_for(team_file, task.key)
