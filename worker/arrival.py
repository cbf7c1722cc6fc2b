"""How a teammate comes up: what it was told is checked, and its record says that it is there.

Imports little: whoever started it waits for this, and not for what the work needs.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager

from swarm.core.spawn import TeammateSpec
from swarm.errors import SwarmError
from swarm.permissions.calls import BEHAVIORS, Policy
from swarm.permissions.modes import check_mode
from swarm.permissions.rules import parse_rules
from swarm.settings import Settings
from swarm.storage.clock import SystemClock
from swarm.storage.layout import Layout
from swarm.storage.team import Team, open_team
from swarm.values import Value
from worker.agent_log import agent_log
from worker.context.agent import AgentContext, current_agent
from worker.model.choose import check_model
from worker.presence import Presence

logger = logging.getLogger(__name__)

FAILED = "failed"


class Arrival(Value):
    """A life that has said that it is there. Whoever has it goes on to live it, and closes the team."""

    spec: TeammateSpec
    team: Team
    presence: Presence


def come_up(spec: TeammateSpec) -> Arrival | None:
    """Report ready; None when what it was told makes no sense, as its record and log then say.

    Raises only when there is no such team.
    """
    team = open_team(spec.root, spec.team, Settings().scaled(spec.time_scale), SystemClock())
    presence = Presence(team, spec)
    try:
        policy_of(spec, team)
        check_model(spec.model, spec.environ)
    except SwarmError:
        with speaking_as(agent_of(spec), team):
            logger.exception("teammate not started")
        presence.stopped(FAILED)
        team.close()
        return None
    presence.ready()
    return Arrival(spec=spec, team=team, presence=presence)


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


def policy_of(spec: TeammateSpec, team: Team) -> Policy:
    """Return what this teammate may do; a mode or rule that cannot be is a ConfigError."""
    layout = Layout(root=spec.root)
    rules = [
        rule
        for behavior in BEHAVIORS
        for given in spec.rules
        for rule in parse_rules(getattr(given, behavior), behavior, given.source)
    ]
    return Policy(
        mode=check_mode(spec.permission_mode),
        rules=tuple(rules),
        workspace=os.path.realpath(spec.workspace),
        control_roots=(layout.teams_dir, layout.tasks_root),
        home=spec.environ.get("HOME") or os.path.expanduser("~"),
        readable=(team.layout.tool_results(spec.name),),
        mode_after_plan=check_mode(spec.mode_after_plan),
    )


@contextmanager
def speaking_as(agent: AgentContext, team: Team) -> Iterator[None]:
    """While the block runs, what is logged goes into this agent's log."""
    mark = current_agent.set(agent)
    try:
        with agent_log(team.layout.log(agent.name), agent):
            yield
    finally:
        current_agent.reset(mark)
