"""Starting an agent stole the keyboard focus."""

from __future__ import annotations

import pytest

from tests.support.private_tmux import SLEEP, needs_tmux, private_tmux
from tests.support.tmux_bed import SLOW, attached, tmux_bed

pytestmark = [*needs_tmux, SLOW]


@pytest.mark.parametrize("watched", [False, True], ids=["detached", "attached"])
async def test_the_active_window_and_pane_stay(isolated_home, watched: bool) -> None:
    with private_tmux() as tmux:
        own = tmux.session("lead")
        tmux.run("split-window", "-t", own, "--", *SLEEP)
        tmux.run("new-window", "-t", "=lead:", "--", *SLEEP)
        tmux.run("select-pane", "-t", own)
        async with tmux_bed(tmux, tmux.inside(own)) as bed:
            if watched:
                with attached(tmux, "lead"):
                    await starts_beside(bed, tmux)
            else:
                await starts_beside(bed, tmux)


async def starts_beside(bed, tmux) -> None:
    before = tmux.look()
    await bed.start("w2", "w3", "w4")

    ours = {bed.about(name, "#{window_id}") for name in ("w2", "w3", "w4")}
    assert [line for line in tmux.look() if line.split()[1] not in ours] == before
    assert {bed.about(name, "#{window_active}") for name in ("w2", "w3", "w4")} == {"0"}
