"""The start command was typed into the pane before the shell was ready and was lost; the worker never ran."""

from __future__ import annotations

import time
from pathlib import Path

from tests.support.private_tmux import needs_tmux, private_tmux
from tests.support.tmux_bed import SLOW, tmux_bed

pytestmark = [*needs_tmux, SLOW]

SHELL_THAT_ASKS = "sleep 60; read -r -n 1 -p 'update your dot files? ' answer\n"
CONF = """
set -g default-shell /bin/bash
set -g default-command "exec /bin/bash -i"
"""


async def test_no_shell_stands_between_a_pane_and_its_worker(isolated_home: Path) -> None:
    """Four of them come up while no shell of that person would have."""
    for name in (".bashrc", ".bash_profile", ".zshrc", ".profile"):
        (isolated_home / name).write_text(SHELL_THAT_ASKS)
    with private_tmux(CONF) as tmux:
        async with tmux_bed(tmux) as bed:
            began = time.monotonic()
            await bed.start("w2", "w3", "w4", "w5")

            assert time.monotonic() - began < 20
            bed.check("w2", "w3", "w4", "w5")
            for name in ("w2", "w3", "w4", "w5"):
                argv = Path(f"/proc/{bed.pid(name)}/cmdline").read_bytes().split(b"\0")
                assert b"worker" in argv
