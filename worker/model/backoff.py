"""How often, and after which wait, a failed request is sent again: the one retry policy there is."""

from __future__ import annotations

import random
from collections.abc import Callable

from swarm.errors import ModelError
from swarm.settings import Settings
from worker.model.failures import is_passing


class Backoff:
    """The tries of one request. Many workers that fail at once come back at different times.

    The wait is drawn evenly from between the shortest wait and a bound that doubles with each try (full
    jitter); a service that names a wait gets at least that.
    """

    def __init__(self, settings: Settings, draw: Callable[[float, float], float] = random.uniform) -> None:
        self._settings = settings
        self._draw = draw
        self.tried = 0

    def wait_after(self, error: ModelError) -> float | None:
        """Count a try that failed with `error`; return the seconds to wait, or None when it was the last."""
        self.tried += 1
        settings = self._settings
        if not is_passing(error) or self.tried >= settings.model_tries_max:
            return None
        asked = error.details.get("retry_after")
        named = float(asked) if isinstance(asked, int | float) else 0.0
        if named > settings.model_retry_after_max_seconds:
            return None
        shortest, longest = settings.model_retry_min_seconds, settings.model_retry_max_seconds
        bound = min(longest, shortest * 2.0**self.tried)
        return max(named, self._draw(shortest, bound))
