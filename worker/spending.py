"""What the calls of one life cost, told to the team: set aside before each, written down after it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

from swarm.errors import ConfigError, LockTimeoutError, ModelError, StateError, SwarmError
from swarm.storage.team import Team

logger = logging.getLogger(__name__)

BUDGET_SPENT = "budget_spent"
NO_PRICE = "no_price"
_LOOK_SECONDS = 0.1


class Spending:
    """Keeps account of one agent's calls, of which there is one at a time: `open`, the request, `settle`."""

    def __init__(self, team: Team, agent: str, run_id: str) -> None:
        self._team = team
        self._agent = agent
        self._run_id = run_id

    async def open(self, model: str, input_tokens: int, max_tokens: int) -> None:
        """Set aside what this request costs at most; a ModelError when there is not that much left.

        It waits where there may be enough once the calls of others have ended. The kind of the error is
        `budget_spent`, or `no_price` where there is a budget and no price of the model is known.
        """
        clock = self._team.clock
        until = clock.monotonic() + self._team.settings.budget_wait_seconds
        while not self._reserve(model, input_tokens, max_tokens, patient=clock.monotonic() < until):
            await asyncio.sleep(_LOOK_SECONDS)

    def _reserve(self, model: str, input_tokens: int, max_tokens: int, *, patient: bool) -> bool:
        """Return False when it is worth to wait."""
        try:
            self._team.costs.reserve(self._run_id, model, input_tokens, max_tokens, patient=patient)
        except LockTimeoutError:
            raise
        except ConfigError as error:
            raise self._refused(error, NO_PRICE) from error
        except StateError as error:
            if error.code == "busy":
                return False
            if error.code != BUDGET_SPENT:
                raise
            self._tell(error)
            raise self._refused(error, BUDGET_SPENT) from error
        return True

    def settle(self, model: str, usage: Mapping[str, Any], unsaid_tokens: int = 0) -> None:
        """Write down what it came to: nothing for one that was refused.

        An answer that broke off may have been `unsaid_tokens` longer, up to the limit that was asked for.
        What cannot be written stays set aside, and so counts as spent; so does what is never settled.
        """
        try:
            self._team.costs.record(
                agent=self._agent,
                run_id=self._run_id,
                task=self._task(),
                model=model,
                usage=usage,
                unsaid_tokens=unsaid_tokens,
            )
        except StateError as error:
            logger.warning("cost not written", extra={"swarm_error": str(error)})

    def _task(self) -> str | None:
        """Return the task that the agent is on; it has one at a time."""
        return next(iter(self._team.tasks(self._agent).table().in_progress_of(self._agent)), None)

    def _tell(self, error: SwarmError) -> None:
        try:
            self._team.events.emit(
                BUDGET_SPENT, self._agent, run_id=self._run_id, task=self._task(), **error.details
            )
        except StateError as failed:
            logger.warning("event not written", extra={"swarm_error": str(failed)})

    def _refused(self, error: SwarmError, kind: str) -> ModelError:
        return ModelError(error.message, code=error.code, details={"kind": kind, **error.details})
