"""Puts a teammate together from what it was told at its start."""

from __future__ import annotations

import asyncio
import logging
import os

from swarm.core.spawn import TeammateSpec
from swarm.settings import SCRIPTED_MODEL
from swarm.storage.team import Team
from swarm.storage.watch import Watch, files_of_agents
from swarm.workspace.git import GitWorkspace, WorkspaceError
from worker.arrival import FAILED, Arrival, agent_of, come_up, policy_of, speaking_as
from worker.model.choose import LiveModels, Models, ScriptedModels
from worker.planning import PLAN
from worker.spending import Spending
from worker.teammate import Teammate
from worker.tools.registry import built_in_tools
from worker.workbench import Workbench

logger = logging.getLogger(__name__)


async def run_teammate(spec: TeammateSpec, stop: asyncio.Event, hint: asyncio.Event | None = None) -> str:
    """Come up and live as this teammate until `stop` is set; return why it ended (`asked` or `failed`).

    Everything it knows comes from `spec`: many teammates share one process. Whatever goes wrong ends up in
    the agent's record; raises only when there is no such team, or when it is cancelled.
    """
    arrival = come_up(spec)
    return FAILED if arrival is None else await live(arrival, stop, hint)


async def live(arrival: Arrival, stop: asyncio.Event, hint: asyncio.Event | None = None) -> str:
    """Live as a teammate that has come up; see `run_teammate`.

    Who sets `hint` watches the team's files for it; without one it watches them itself.
    """
    spec, team = arrival.spec, arrival.team
    try:
        with speaking_as(agent_of(spec), team):
            if hint is not None:
                return await _live(arrival, stop, hint)
            return await _watching(arrival, stop)
    finally:
        team.close()


async def _watching(arrival: Arrival, stop: asyncio.Event) -> str:
    hint = asyncio.Event()
    with Watch(files_of_agents(arrival.team.layout, [arrival.spec.name])) as watch:
        if watch.problem is not None:
            logger.warning("team files not watched", extra={"swarm_reason": watch.problem})
        with watch.telling(asyncio.get_running_loop(), hint.set):
            return await _live(arrival, stop, hint)


async def _live(arrival: Arrival, stop: asyncio.Event, hint: asyncio.Event) -> str:
    bench = make_workbench(arrival.spec, arrival.team)
    loading = asyncio.create_task(bench.models.load())
    try:
        return await Teammate(bench, arrival.presence, stop, hint).run()
    finally:
        loading.cancel()
        await asyncio.gather(loading, return_exceptions=True)
        await bench.models.close()


def make_workbench(spec: TeammateSpec, team: Team) -> Workbench:
    """Return what this teammate's sessions share; a model, mode or rule that cannot be is a ConfigError."""
    workspace = os.path.realpath(spec.workspace)
    return Workbench(
        team=team,
        agent=agent_of(spec),
        workspace=workspace,
        environ=spec.environ,
        policy=policy_of(spec, team),
        tools=built_in_tools(team.settings, plans=spec.permission_mode == PLAN),
        models=_models(spec, team),
        in_repository=_is_in_repository(spec, workspace),
        headless=spec.headless,
    )


def _models(spec: TeammateSpec, team: Team) -> Models:
    if spec.model == SCRIPTED_MODEL:
        return ScriptedModels(team.layout.team_file, spec.pace_seconds)
    meter = Spending(team, spec.name, spec.run_id)
    return LiveModels(spec.model, spec.environ, team.settings, meter, spec.fallback_model)


def _is_in_repository(spec: TeammateSpec, workspace: str) -> bool:
    """Tell whether there is a repository, be it one that git refuses to work in: that is found out later."""
    try:
        return GitWorkspace(workspace, spec.environ).is_repository()
    except WorkspaceError:
        return True
