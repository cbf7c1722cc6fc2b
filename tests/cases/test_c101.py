"""Agents were killed, but empty panes and sessions stayed."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from swarm.testing.wait import eventually
from tests.support.crew import crew, quick_task
from tests.support.private_tmux import needs_tmux, private_tmux
from tests.support.tmux_bed import SLOW, tmux_bed

pytestmark = [*needs_tmux, SLOW]


@pytest.mark.parametrize("remain", ["on", "off"])
@pytest.mark.parametrize("inside", [False, True], ids=["own server", "in a session"])
async def test_no_pane_or_session_of_ours_is_left(isolated_home, remain: str, inside: bool) -> None:
    """A crashed one can be read until the clean-up, which closes it."""
    with private_tmux(f"set -g remain-on-exit {remain}\nset -g exit-empty off\n") as tmux:
        before = [tmux.session("lead")] if inside else []
        async with tmux_bed(tmux, tmux.inside(before[0]) if inside else None) as bed:
            await bed.start("w2", "w3", "w4", "w5")
            os.kill(bed.pid("w5"), signal.SIGKILL)
            await eventually(lambda: not bed.backend.is_alive("w5"), 10)
            await eventually(lambda: bed.about("w5", "#{pane_dead}") == "1", 10)
            assert bed.backend.failure("w5") == "it was ended by SIGKILL"

            assert await bed.backend.stop(timeout=20) == ()
            await bed.backend.cleanup()

            assert tmux.panes() == before
            assert tmux.sockets() == ([tmux.socket] if inside else [])
            assert bed.backend.failure("w5") == "it was ended by SIGKILL"
            assert bed.backend.failure("w2") is None


def test_the_pane_of_a_crashed_one_goes_when_a_person_deals_with_it(isolated_home: Path) -> None:
    """Nobody leads it, so nobody else would."""
    with crew("tmux", isolated_home, "w1", tasks=[quick_task("a")]) as team:
        team.bring_up()
        team.until_state("idle")
        pane = team.record("w1").handle["pane"]
        team.kill_now("w1")
        (socket,) = team.tmux.sockets()
        assert pane in team.tmux.panes(socket)

        assert team.swarm("stop", "w1").out == "w1 already ended\n"
        assert pane not in team.tmux.panes(socket)
