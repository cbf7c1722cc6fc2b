"""With window or pane numbers starting at 1, instructions went to the wrong pane or to none."""

from __future__ import annotations

import pytest

from tests.support.private_tmux import HARSH_CONF, needs_tmux, private_tmux
from tests.support.tmux_bed import SLOW, tmux_bed

pytestmark = [*needs_tmux, SLOW]


@pytest.mark.parametrize("inside", [False, True], ids=["own server", "in a session"])
@pytest.mark.parametrize("conf", ["", HARSH_CONF], ids=["defaults", "harsh"])
async def test_numbering_makes_no_difference(isolated_home, conf: str, inside: bool) -> None:
    """Start three, end one, start it again: everybody is in his own pane, and stopping leaves none."""
    with private_tmux(conf) as tmux:
        before = [tmux.session("lead")] if inside else []
        async with tmux_bed(tmux, tmux.inside(before[0]) if inside else None) as bed:
            await bed.start("w2", "w3", "w4")
            await bed.backend.kill(timeout=10, names=["w3"])
            bed.check("w2", "w4")
            await bed.start("w3", life=2)

            bed.check("w2", "w4", "w3")
            assert {bed.about(name, "#{window_zoomed_flag}") for name in ("w2", "w3", "w4")} == {"0"}
            assert await bed.backend.stop(timeout=20) == ()
            await bed.backend.cleanup()
            assert tmux.panes() == before
            assert tmux.sockets() == ([tmux.socket] if inside else [])
