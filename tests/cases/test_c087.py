"""A fixed session name left by a crash made the start fail with a message that tmux was not installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.private_tmux import SLEEP, needs_tmux, private_tmux
from tests.support.tmux_bed import SLOW, tmux_bed

pytestmark = [*needs_tmux, SLOW]


@pytest.mark.parametrize("name", ["swarm-demo", "swarm:demo", "swarm", "demo"])
async def test_names_that_are_taken_are_left_alone(isolated_home, name: str) -> None:
    """Session and window of our names, on our very socket and in the leader's session: ours come up."""
    with private_tmux() as tmux:
        async with tmux_bed(tmux) as bed:
            Path(bed.own_socket).parent.mkdir(mode=0o700)
            made = ("new-session", "-d", "-s", name, "-n", name, "-P", "-F", "#{pane_id}", "--", *SLEEP)
            theirs = tmux.run(*made, socket=bed.own_socket)
            await bed.start("w2", "w3")

            bed.check("w2", "w3")
            about = "#{session_id} #{window_panes}"
            session, panes = tmux.run(
                "display-message", "-p", "-t", theirs, about, socket=bed.own_socket
            ).split()
            assert panes == "1"
            assert session not in {bed.about(name, "#{session_id}") for name in ("w2", "w3")}
            await bed.backend.stop(timeout=20)
            await bed.backend.cleanup()
            assert tmux.panes(bed.own_socket) == [theirs]


async def test_a_window_of_our_name_is_left_alone(isolated_home) -> None:
    with private_tmux() as tmux:
        own = tmux.session("lead")
        tmux.run("rename-window", "-t", own, "swarm:demo")
        before = tmux.look()
        async with tmux_bed(tmux, tmux.inside(own)) as bed:
            await bed.start("w2", "w3")

            bed.check("w2", "w3")
            ours = {bed.about(name, "#{window_id}") for name in ("w2", "w3")}
            assert [line for line in tmux.look() if line.split()[1] not in ours] == before
