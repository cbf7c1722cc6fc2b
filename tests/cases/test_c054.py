"""Recorded ids of closed panes were used again, so later starts failed with a fork error."""

from __future__ import annotations

from swarm.testing.wait import eventually
from tests.support.private_tmux import needs_tmux, private_tmux
from tests.support.tmux_bed import SLOW, tmux_bed

pytestmark = [*needs_tmux, SLOW]


async def test_a_pane_closed_by_hand_is_an_end_and_not_an_address(isolated_home) -> None:
    """Its teammate hears that as the order to stop, and can be started again, in a new pane."""
    with private_tmux() as tmux:
        async with tmux_bed(tmux, tmux.inside(tmux.session("lead"))) as bed:
            await bed.start("w2", "w3")
            old = bed.pane("w2")
            for name in ("w2", "w3"):
                tmux.run("kill-pane", "-t", bed.pane(name))
            await eventually(lambda: bed.backend.list_alive() == (), 15)

            await bed.start("w2", life=2)

            bed.check("w2")
            assert bed.pane("w2") != old


async def test_a_server_that_was_killed_is_started_anew(isolated_home) -> None:
    """The new server gives out the same ids: an old one then means somebody else's pane."""
    with private_tmux() as tmux:
        async with tmux_bed(tmux) as bed:
            await bed.start("w2", "w3")
            tmux.run("kill-server", socket=bed.own_socket)
            await eventually(lambda: bed.backend.list_alive() == (), 15)

            await bed.start("w4")
            await bed.start("w3", life=2)
            assert bed.pane("w4") == "%0"
            await bed.backend.cleanup()  # w2 was in a `%0`, too

            bed.check("w4", "w3")
