"""`--follow`: print what is new, wait for more, look again. There is nothing to miss: files only grow."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from swarm.cli.session import Io
from swarm.errors import EXIT_CODES
from swarm.storage import syscalls
from swarm.storage.team import Team
from swarm.storage.watch import Watch

_PAUSE_SECONDS = 0.02
"""Between two looks, so that a burst of lines is not one look each."""


def follow(
    team: Team,
    io: Io,
    paths: Iterable[str],
    print_new: Callable[[], object],
    has_ended: Callable[[], bool] = lambda: False,
) -> int:
    """Call `print_new` after each change of these files, and each second, for there may be no hint.

    Ends with Ctrl-C, which is usual and no error, when the run `has_ended` or when the team is deleted.
    """
    try:
        with Watch((team.layout.config, *paths)) as watch:
            if watch.problem is not None:
                io.note(f"Warning: {watch.problem}")
            while syscalls.find_stat(team.layout.team_dir) is not None:
                is_last = has_ended()
                print_new()
                io.flush()
                if is_last:
                    io.note(f"the run of {team.name} has ended")
                    return 0
                time.sleep(_PAUSE_SECONDS)
                watch.wait(team.settings.idle_check_seconds)
    except KeyboardInterrupt:
        return EXIT_CODES["interrupted"]
    io.note(f"team {team.name} is gone")
    return 0
