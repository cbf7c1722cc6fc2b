"""Whether an agent may only look, because its plan was not approved yet."""

from __future__ import annotations


class PlanMode:
    """The state of one session. `after` is the permission mode that holds once a plan was approved."""

    def __init__(self, after: str, *, is_open: bool = True) -> None:
        self.is_open = is_open
        self._after = after

    @property
    def mode(self) -> str:
        """The mode by which calls are judged now."""
        return "plan" if self.is_open else self._after

    def approve(self) -> str:
        """End it, and return the mode that holds from now on."""
        self.is_open = False
        return self._after
