"""What all sessions of one agent share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from swarm.permissions.calls import Policy
from swarm.permissions.rules import is_denied_as_a_whole
from swarm.storage.team import Team
from swarm.values import Value
from swarm.workspace.environment import child_environment
from worker.context.agent import AgentContext
from worker.model.choose import Models
from worker.tools.contract import Tool


class Workbench(Value):
    """The agent, its team and what it works with. `environ` is the agent's own environment.

    `in_repository` tells whether the workspace was in one when this life began: then work is committed.
    `headless` means that nobody is there to answer a question.
    """

    team: Team
    agent: AgentContext
    workspace: str
    environ: Mapping[str, str]
    policy: Policy
    tools: tuple[Tool[Any], ...]
    models: Models
    in_repository: bool = False
    headless: bool = False

    @property
    def offered(self) -> tuple[Tool[Any], ...]:
        """The tools that the model is told of: all but those of which every call would be denied."""
        return tuple(one for one in self.tools if not is_denied_as_a_whole(one.name, self.policy.rules))

    def environment_of(self, task_id: str | None) -> dict[str, str]:
        """Return the whole environment of commands that are run for this task, or for none."""
        return child_environment(
            self.environ,
            root=self.team.root,
            team=self.team.name,
            agent=self.agent.name,
            run_id=self.agent.run_id,
            task=task_id,
        )

    def emit(self, kind: str, *, task: str | None = None, **data: Any) -> None:
        """Append an event of this agent."""
        self.team.events.emit(kind, self.agent.name, run_id=self.agent.run_id, task=task, **data)
