"""`--follow`: print what is new, wait a moment, look again. There is nothing to miss: files only grow."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from swarm.cli.session import Io
from swarm.errors import EXIT_CODES
from swarm.storage.team import Team


def follow(team: Team, io: Io, print_new: Callable[[], object]) -> int:
    """Call `print_new` until Ctrl-C, which is the usual end and no error, or until the team is deleted."""
    try:
        while os.path.exists(team.layout.config):
            print_new()
            io.flush()
            time.sleep(team.settings.idle_check_seconds)
    except KeyboardInterrupt:
        return EXIT_CODES["interrupted"]
    io.note(f"team {team.name} is gone")
    return 0
