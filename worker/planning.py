"""Plan mode in a session: what it begins with, what the model is told of it, and how a plan is handed in."""

from __future__ import annotations

from collections.abc import Sequence

from swarm.core.permission import PLAN_TOOL, parse_request
from swarm.core.tags import SYSTEM_REMINDER, block
from swarm.permissions.calls import Policy
from swarm.storage.team import Team
from worker.messages import Block, text_block
from worker.prompts.texts import PLAN_APPROVED, PLAN_MODE
from worker.tools.plan_mode import PlanMode

PLAN = "plan"
_REMIND_TURNS = 5


def plan_mode(team: Team, policy: Policy, agent: str, task: str | None) -> PlanMode | None:
    """Return the state in which a session begins; None for an agent that is in no plan mode.

    A plan that was approved for this agent and task stays so, through interruptions and further attempts.
    """
    if policy.mode != PLAN:
        return None
    return PlanMode(policy.mode_after_plan, is_open=not _was_approved(team, agent, task))


def _was_approved(team: Team, agent: str, task: str | None) -> bool:
    if task is None:
        return False
    for resolution in team.permissions.list_resolved():
        if resolution.outcome != "allow" or resolution.request is None:
            continue
        try:
            request = parse_request(resolution.request)
        except ValueError:
            continue
        same = (request.tool, request.agent, request.task) == (PLAN_TOOL, agent, task)
        if same and request.digest == resolution.digest:
            return True
    return False


class PlanReminders:
    """Says at the start of a session, and then now and again, that the agent may only look yet."""

    def __init__(self, plan: PlanMode | None) -> None:
        self._plan = plan
        self._turns = 0

    def next(self) -> Sequence[Block]:
        """Return what the next request says of it; called once before each."""
        turn, self._turns = self._turns, self._turns + 1
        if self._plan is None:
            return ()
        if self._plan.is_open:
            return (_reminder(PLAN_MODE),) if turn % _REMIND_TURNS == 0 else ()
        return (_reminder(PLAN_APPROVED.format(mode=self._plan.mode)),) if turn == 0 else ()


def _reminder(text: str) -> Block:
    return text_block(block(SYSTEM_REMINDER, text))
