"""A newline in some pane's start command anywhere on the server broke the listing of all panes."""

from __future__ import annotations

from tests.support.private_tmux import needs_tmux, private_tmux
from tests.support.tmux_bed import SLOW, tmux_bed

pytestmark = [*needs_tmux, SLOW]

ODD = "x\ty:z ⌘ ␞ #{pane_id} \n$9 @9 %99 1 0\n"


async def test_foreign_titles_and_commands_confuse_nobody(isolated_home) -> None:
    """Start, look and stop work beside them; they stay what they are."""
    with private_tmux() as tmux:
        own = tmux.session("lead")
        tmux.run("new-session", "-d", "-s", ODD, f"echo '{ODD}'; sleep 300")
        tmux.run("new-window", "-d", "-t", "=lead:", "-n", ODD, f"echo '{ODD}'; sleep 300")
        tmux.run("select-pane", "-t", own, "-T", ODD)
        tmux.run("rename-window", "-t", own, "swarm:demo")
        before = tmux.panes()
        async with tmux_bed(tmux, tmux.inside(own)) as bed:
            await bed.start("w2", "w3")

            bed.check("w2", "w3")
            assert bed.about("w2", "#{window_id}") != tmux.run(
                "display-message", "-p", "-t", own, "#{window_id}"
            )
            assert await bed.backend.stop(timeout=20) == ()
            await bed.backend.cleanup()
            assert tmux.panes() == before
