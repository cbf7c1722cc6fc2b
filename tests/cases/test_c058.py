"""A session was made, but the listing right after it did not show it yet: it was taken for not found."""

from __future__ import annotations

from pathlib import Path

from tests.support.private_tmux import needs_tmux, private_tmux, wrap_tmux
from tests.support.tmux_bed import SLOW, tmux_bed

pytestmark = [*needs_tmux, SLOW]

LISTS_LATE = """
case "$*" in
  *new-session*|*new-window*|*split-window*) : > $D/made ;;
  *list-*) if [ -e $D/made ]; then rm $D/made; exit 0; fi ;;
esac
exec $REAL "$@"
"""


async def test_what_was_just_made_is_not_looked_for(isolated_home, tmp_path: Path) -> None:
    """The first list after each start is empty: who asked it would miss the pane, or make another."""
    with private_tmux() as tmux:
        path = wrap_tmux(tmp_path / "bin", LISTS_LATE)
        async with tmux_bed(tmux, {**tmux.inside(tmux.session("lead")), "PATH": path}) as bed:
            await bed.start("w2", "w3", "w4")

            bed.check("w2", "w3", "w4")
            assert len(tmux.panes()) == 4
