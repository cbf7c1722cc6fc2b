"""With more than a few panes tmux said that there was no space, and the start failed."""

from __future__ import annotations

from tests.support.private_tmux import needs_tmux, private_tmux
from tests.support.tmux_bed import SLOW, tmux_bed

pytestmark = [*needs_tmux, SLOW]

NAMES = tuple(f"p{number}" for number in range(1, 13))


async def test_twelve_fit_into_a_session_of_80x24(isolated_home) -> None:
    """Nobody is attached to it, so it stays that small."""
    with private_tmux() as tmux:
        async with tmux_bed(tmux, tmux.inside(tmux.session("lead", columns=80, rows=24))) as bed:
            await bed.start(*NAMES)

            bed.check(*NAMES)
            assert len({bed.pane(name) for name in NAMES}) == 12


async def test_what_does_not_fit_gets_a_further_window(isolated_home) -> None:
    """In 20x6 two or three have room side by side; no start is refused, none is half done."""
    with private_tmux() as tmux:
        own = tmux.session("lead", columns=20, rows=6)
        async with tmux_bed(tmux, tmux.inside(own)) as bed:
            await bed.start(*NAMES)

            bed.check(*NAMES)
            windows = {bed.about(name, "#{window_id}") for name in NAMES}
            assert len(windows) > 1
            assert {bed.about(name, "#{window_name}") for name in NAMES} == {"swarm:demo"}
            assert await bed.backend.stop(timeout=20) == ()
            await bed.backend.cleanup()
            assert tmux.panes() == [own]
