"""The first team worked; after it was shut down, the second could not start."""

from __future__ import annotations

import os

import pytest

from tests.support.private_tmux import needs_tmux, private_tmux
from tests.support.tmux_bed import SLOW, tmux_bed

pytestmark = [*needs_tmux, SLOW]


@pytest.mark.parametrize("inside", [False, True], ids=["own server", "in a session"])
async def test_every_round_is_like_the_first(isolated_home, inside: bool) -> None:
    """Panes, sessions, sockets and files are the same after each."""
    with private_tmux() as tmux:
        environ = tmux.inside(tmux.session("lead")) if inside else None
        async with tmux_bed(tmux, environ) as bed:
            left = []
            for life in range(1, 5):
                await bed.start("w2", "w3", "w4", life=life)
                bed.check("w2", "w3", "w4")
                assert await bed.backend.stop(timeout=20) == ()
                await bed.backend.cleanup()
                left.append((tmux.panes(), tmux.sockets(), sorted(os.listdir(os.path.dirname(tmux.socket)))))

    assert left == [left[0]] * 4
