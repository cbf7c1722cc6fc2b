"""What holds an agent back between two steps: it then neither takes a task nor asks its model."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from worker.loop.abort import Aborted, unless_aborted

PAUSED = "paused"
RATE_LIMIT = "rate_limit"
LEADER_GONE = "leader_gone"
_ORDER = (LEADER_GONE, PAUSED)


class Hold:
    """Reasons to wait, which come and go; a step that is under way when one comes is not cut short.

    `held` is called with the reason when the agent begins to wait, `goes_on` when it need not any more;
    `waits` with the reason and the seconds when it waits for something that passes by itself; `asks` with
    the id and the deadline of the oldest question to a person that it waits for. Once `stop` is set it goes
    on with nothing.
    """

    def __init__(
        self,
        held: Callable[[str], None],
        goes_on: Callable[[], None],
        waits: Callable[[str, float], None],
        asks: Callable[[str, str], None],
        stop: asyncio.Event,
    ) -> None:
        self._stop = stop
        self._asks = asks
        self._questions: dict[str, str] = {}
        self._held = held
        self._goes_on = goes_on
        self._waits = waits
        self._waiting = False
        self._reasons: set[str] = set()
        self._changed = asyncio.Event()

    @property
    def reason(self) -> str | None:
        """The reason that weighs most; None when nothing holds the agent."""
        return next((reason for reason in _ORDER if reason in self._reasons), None)

    def put(self, reason: str) -> None:
        self._reasons.add(reason)
        self._changed.set()

    def lift(self, reason: str) -> None:
        self._reasons.discard(reason)
        self._changed.set()

    def begin_wait(self, reason: str, seconds: float) -> None:
        """Note that the agent waits for so long; that holds nothing back that is not held anyway."""
        self._waiting = True
        self._waits(reason, seconds)

    def end_wait(self) -> None:
        """Note that what it waited for is there, or not waited for any more. Repeats do nothing."""
        if self._waiting:
            self._waiting = False
            self._show_rest()

    def begin_question(self, on: str, until: str) -> None:
        """Note that a call waits for a person's answer."""
        self._questions[on] = until
        if len(self._questions) == 1:
            self._asks(on, until)

    def end_question(self, on: str) -> None:
        """Note that this is not waited for any more."""
        if self._questions.pop(on, None) is not None:
            self._show_rest()

    def _show_rest(self) -> None:
        if self._questions:
            self._asks(*next(iter(self._questions.items())))
        elif not self._waiting and not self._stop.is_set():
            self._goes_on()

    async def passed(self, stop: asyncio.Event) -> None:
        """Wait until no reason is left, or until `stop`. One waits at a time."""
        told: str | None = None
        while (reason := self.reason) is not None and not stop.is_set():
            if reason != told:
                self._held(reason)
                told = reason
            self._changed.clear()
            try:
                await unless_aborted(stop, self._changed.wait())
            except Aborted:
                return
        if told is not None and not stop.is_set():
            self._goes_on()
