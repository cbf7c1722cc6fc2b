"""Parallel starts mixed their keystrokes in one window, and the user's layout was torn up."""

from __future__ import annotations

import asyncio

from swarm.testing.wait import eventually
from tests.support.private_tmux import SLEEP, needs_tmux, private_tmux
from tests.support.tmux_bed import SLOW, tmux_bed

pytestmark = [*needs_tmux, SLOW]

NAMES = tuple(f"p{number}" for number in range(1, 7))


async def test_starts_side_by_side_leave_the_users_window_alone(isolated_home) -> None:
    """All six run, each in a pane of its own, in one window."""
    with private_tmux() as tmux:
        own = tmux.session("lead")
        for way in ("-h", "-v"):
            tmux.run("split-window", way, "-t", own, "--", *SLEEP)
        before = tmux.look()
        assert len(before) == 3
        async with tmux_bed(tmux, tmux.inside(own)) as bed:
            await asyncio.gather(*(bed.spawn(name) for name in NAMES))
            await eventually(lambda: all(bed.record(name).state == "idle" for name in NAMES), 30)

            assert sorted(bed.backend.list_alive()) == sorted(NAMES)
            assert len({bed.pane(name) for name in NAMES}) == 6
            ours = {bed.about(name, "#{window_id}") for name in NAMES}
            assert len(ours) == 1
            assert [line for line in tmux.look() if line.split()[1] not in ours] == before
