"""Puts a teammate together from what it was told at its start."""

from __future__ import annotations

import asyncio
import logging
import os

from swarm.core.spawn import TeammateSpec
from swarm.errors import SwarmError
from swarm.permissions.calls import Policy
from swarm.permissions.modes import check_mode
from swarm.permissions.rules import parse_rules
from swarm.settings import Settings
from swarm.storage.clock import SystemClock
from swarm.storage.layout import Layout
from swarm.storage.team import Team, open_team
from swarm.storage.watch import Watch, files_of_agents
from swarm.workspace.git import GitWorkspace, WorkspaceError
from worker.agent_log import agent_log
from worker.context.agent import AgentContext, current_agent
from worker.model.choose import choose_model
from worker.presence import Presence
from worker.teammate import FAILED, Teammate
from worker.tools.registry import built_in_tools
from worker.workbench import Workbench

logger = logging.getLogger(__name__)


async def run_teammate(spec: TeammateSpec, stop: asyncio.Event, hint: asyncio.Event | None = None) -> str:
    """Live as this teammate until `stop` is set; return why it ended (`asked` or `failed`).

    Who sets `hint` watches the team's files for it; without one it watches them itself.
    Everything it knows comes from `spec`: many teammates share one process. Whatever goes wrong ends up in
    the agent's record; raises only when there is no such team, or when it is cancelled.
    """
    team = open_team(spec.root, spec.team, Settings().scaled(spec.time_scale), SystemClock())
    agent = agent_of(spec)
    mark = current_agent.set(agent)
    try:
        with agent_log(team.layout.log(spec.name), agent):
            if hint is not None:
                return await _live(spec, team, stop, hint)
            return await _watching(spec, team, stop)
    finally:
        current_agent.reset(mark)
        team.close()


async def _watching(spec: TeammateSpec, team: Team, stop: asyncio.Event) -> str:
    hint = asyncio.Event()
    with Watch(files_of_agents(team.layout, [spec.name])) as watch:
        if watch.problem is not None:
            logger.warning("team files not watched", extra={"swarm_reason": watch.problem})
        with watch.telling(asyncio.get_running_loop(), hint.set):
            return await _live(spec, team, stop, hint)


async def _live(spec: TeammateSpec, team: Team, stop: asyncio.Event, hint: asyncio.Event) -> str:
    presence = Presence(team, spec)
    try:
        teammate = Teammate(make_workbench(spec, team), presence, stop, hint)
    except SwarmError:
        logger.exception("teammate not started")
        presence.stopped(FAILED)
        return FAILED
    return await teammate.run()


def agent_of(spec: TeammateSpec) -> AgentContext:
    return AgentContext(
        name=spec.name,
        team=spec.team,
        role=spec.role,
        run_id=spec.run_id,
        color=spec.color,
        model=spec.model,
        permission_mode=spec.permission_mode,
    )


def make_workbench(spec: TeammateSpec, team: Team) -> Workbench:
    """Return what this teammate's sessions share; a model, mode or rule that cannot be is a ConfigError."""
    workspace = os.path.realpath(spec.workspace)
    return Workbench(
        team=team,
        agent=agent_of(spec),
        workspace=workspace,
        environ=spec.environ,
        policy=_policy(spec, team, workspace),
        tools=built_in_tools(team.settings),
        model_for=choose_model(spec.model, team_file=team.layout.team_file, pace_seconds=spec.pace_seconds),
        in_repository=_is_in_repository(spec, workspace),
    )


def _is_in_repository(spec: TeammateSpec, workspace: str) -> bool:
    """Tell whether there is a repository, be it one that git refuses to work in: that is found out later."""
    try:
        return GitWorkspace(workspace, spec.environ).is_repository()
    except WorkspaceError:
        return True


def _policy(spec: TeammateSpec, team: Team, workspace: str) -> Policy:
    layout = Layout(root=spec.root)
    allow = parse_rules(spec.allow, "allow", "team file")
    deny = parse_rules(spec.deny, "deny", "team file")
    return Policy(
        mode=check_mode(spec.permission_mode),
        rules=(*deny, *allow),
        workspace=workspace,
        control_roots=(layout.teams_dir, layout.tasks_root),
        home=spec.environ.get("HOME") or os.path.expanduser("~"),
        readable=(team.layout.tool_results(spec.name),),
    )
