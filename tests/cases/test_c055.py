"""The teammate's pane opened in another tmux session than the leader's."""

from __future__ import annotations

import pytest

from tests.support.private_tmux import needs_tmux, private_tmux
from tests.support.tmux_bed import SLOW, attached, tmux_bed

pytestmark = [*needs_tmux, SLOW]


async def test_the_panes_are_where_the_leader_is_and_not_where_a_person_looks(isolated_home) -> None:
    with private_tmux() as tmux:
        lead = tmux.session("A")
        tmux.session("B")
        with attached(tmux, "B"):
            async with tmux_bed(tmux, tmux.inside(lead)) as bed:
                await bed.start("w2", "w3")

                bed.check("w2", "w3")
                assert {bed.about(name, "#{session_name}") for name in ("w2", "w3")} == {"A"}


@pytest.mark.parametrize("stale", ["dead server", "closed pane", "later server"])
async def test_a_stale_tmux_variable_means_outside(isolated_home, stale: str) -> None:
    """The panes come up on the team's own server; nothing is put into somebody else's."""
    with private_tmux() as tmux, private_tmux() as other:
        inside = tmux.inside(tmux.session("A"))
        if stale == "closed pane":
            tmux.session("B")
            tmux.run("kill-session", "-t", "=A")
        else:
            tmux.kill_servers()
        if stale == "later server":
            tmux.session("A")
        before = tmux.panes()
        async with tmux_bed(other, {**inside, "TMUX_TMPDIR": other.folder}) as bed:
            await bed.start("w2")

            assert bed.socket("w2") == bed.own_socket
            assert bed.backend.list_alive() == ("w2",)
        assert tmux.panes() == before
