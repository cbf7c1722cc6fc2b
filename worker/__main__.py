"""One teammate in a process of its own: `python -P -m worker SPAWN_FILE`.

Started by a backend, never by a person. TERM and HUP are the order to stop; INT, too, in a pane, where a
person presses it, while elsewhere it means somebody else. Nothing is read from stdin. Exit codes: 0 it ended
as it should, 1 it failed (its log says why), 4 another life took its place; before it was ready also 2, there
was no spawn file, and 3, there is no such team.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Coroutine, Sequence
from types import FrameType
from typing import Any

from swarm.core.spawn import TeammateSpec
from swarm.errors import ConfigError, SwarmError
from swarm.storage.spawn_file import read_spawn_file
from swarm.workspace.environment import child_environment
from worker.arrival import FAILED, Arrival, come_up
from worker.farewell import nudge_when_gone

_EXITS = {"asked": 0, "orphaned": 0, "failed": 1, "killed": 4}
_IN_A_PANE = ("tmux", "iterm2")


def main(argv: Sequence[str]) -> int:
    """Live as the teammate that the spawn file describes and return the exit code."""
    order = StopOrder()
    try:
        if len(argv) != 1:
            raise ConfigError(
                "a worker is told the path of its spawn file, and nothing else", code="bad_usage"
            )
        spec = read_spawn_file(argv[0])
        order.obey(interrupts=spec.backend in _IN_A_PANE)
        _see_only_what_was_told(spec)
        arrival = come_up(spec)
        ending = FAILED if arrival is None else _live(arrival, order)
        if spec.backend == "tmux" and ending == "orphaned":
            nudge_when_gone()  # there is no leader that would do it
        return _EXITS[ending]
    except SwarmError as error:
        print(f"error: {error}", file=sys.stderr)  # noqa: T201 - into the log, or before a person
        return error.exit_code


class StopOrder:
    """The signals that ask this process to stop. One that comes before anybody can act on it is kept.

    No signal is ignored: that would be handed on to the commands of the teammate.
    """

    def __init__(self) -> None:
        self._given = False
        self._act: Callable[[], object] | None = None

    def obey(self, *, interrupts: bool) -> None:
        """Hear the signals from now on."""
        signal.signal(signal.SIGTERM, self._hear)
        signal.signal(signal.SIGHUP, self._hear)
        signal.signal(signal.SIGINT, self._hear if interrupts else _nothing)

    def tell(self, act: Callable[[], object]) -> None:
        """Do this at the order, be it given already."""
        self._act = act
        if self._given:
            act()

    def _hear(self, number: int, frame: FrameType | None) -> None:
        self._given = True
        if self._act is not None:
            self._act()


def _nothing(number: int, frame: FrameType | None) -> None:
    """Hear a signal that is not meant for us."""


def _nothing_more() -> None:
    """Take an order that comes when we are on our way out."""


def _see_only_what_was_told(spec: TeammateSpec) -> None:
    """Drop what the one that started us, a tmux server for example, has added to the environment."""
    os.environ.clear()
    os.environ.update(
        child_environment(
            spec.environ, root=spec.root, team=spec.team, agent=spec.name, run_id=spec.run_id, task=None
        )
    )


def _live(arrival: Arrival, order: StopOrder) -> str:
    import asyncio

    from worker.main import live  # imports what the work needs, which takes longer than all before it

    async def until_stopped() -> str:
        stop, loop = asyncio.Event(), asyncio.get_running_loop()
        order.tell(lambda: loop.call_soon_threadsafe(stop.set))
        try:
            return await _shown(arrival, live(arrival, stop))
        finally:
            order.tell(_nothing_more)

    return asyncio.run(until_stopped())


async def _shown(arrival: Arrival, living: Coroutine[Any, Any, str]) -> str:
    """Live, and in a pane show it."""
    import asyncio

    if arrival.spec.backend not in _IN_A_PANE:
        return await living
    from worker.pane import PaneView

    view = PaneView(arrival.team, arrival.spec)
    following = asyncio.get_running_loop().create_task(view.follow())
    try:
        return await living
    finally:
        following.cancel()
        view.look()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
