"""The system prompt: a part that is the same for every agent of every team, then what is particular.

The order is a matter of cost: services keep the longest common beginning of requests, so nothing that depends
on the team, the machine, the time or the tools may stand in the first part. Each condition in it would double
the number of beginnings.
"""

from __future__ import annotations

from collections.abc import Sequence

from swarm.core.tags import one_line
from worker.context.agent import AgentContext
from worker.prompts import load_prompt


def system_prompt(agent: AgentContext, members: Sequence[str], environment: str) -> tuple[str, ...]:
    """Return the sections, the common one first."""
    return (static_part(), _place_in_team(agent, members, environment))


def static_part() -> str:
    return load_prompt("agent")


def _place_in_team(agent: AgentContext, members: Sequence[str], environment: str) -> str:
    return load_prompt("teammate").format(
        name=agent.name,
        role=f" (role {one_line(agent.role)})" if agent.role else "",
        team=agent.team,
        members=", ".join(map(one_line, members)),
        environment=environment,
    )
