"""One passing tmux error was read as `session gone`, and the worker was dropped."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from swarm.testing.wait import eventually
from tests.support.command import Shell
from tests.support.private_tmux import needs_tmux, private_tmux, wrap_tmux
from tests.support.tmux_bed import SLOW, tmux_bed

pytestmark = [*needs_tmux, SLOW]

ONE_IN_FIVE = """
[ $((RANDOM % 5)) = 0 ] && { echo "lost server: Broken pipe" >&2; exit 1; }
exec $REAL "$@"
"""


async def test_a_passing_failure_makes_nobody_dead(isolated_home, tmp_path: Path) -> None:
    """Starts, looks and stops get through, though one call in five fails; no pane is made twice."""
    with private_tmux() as tmux:
        path = wrap_tmux(tmp_path / "bin", ONE_IN_FIVE)
        async with tmux_bed(tmux, {**tmux.inside(tmux.session("lead")), "PATH": path}) as bed:
            await bed.start("w2", "w3", "w4")
            for _ in range(40):
                await bed.backend.cleanup()
                assert bed.backend.list_alive() == ("w2", "w3", "w4")
                await asyncio.sleep(0.01)

            assert len(tmux.panes()) == 4
            assert await bed.backend.stop(timeout=20) == ()
            await bed.backend.cleanup()
            assert len(tmux.panes()) == 1


async def test_a_session_that_is_gone_is_noticed_at_once(isolated_home) -> None:
    """Status answers quickly, and the logs of the dead do not grow."""
    with private_tmux() as tmux:
        async with tmux_bed(tmux, tmux.inside(tmux.session("lead"))) as bed:
            await bed.start("w2", "w3")
            tmux.run("kill-session", "-t", "=lead")
            await eventually(lambda: bed.backend.list_alive() == (), 10)

            began = time.monotonic()
            shown = Shell(isolated_home, isolated_home).swarm("status", "--json")
            assert time.monotonic() - began < 5
            states = {agent["name"]: agent["state"] for agent in shown.json()["agents"]}
            assert (states["w2"], states["w3"]) == ("stopped", "stopped")
            size = logged(bed.team.layout.team_dir)
            await asyncio.sleep(1)
            assert logged(bed.team.layout.team_dir) == size


def logged(team: str) -> int:
    """Return how many bytes the logs of a team hold."""
    return sum(path.stat().st_size for path in Path(team, "logs").iterdir())
