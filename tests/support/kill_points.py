"""A program that kills children in the middle of an operation, at every place, and checks what is left.

    python -m tests.support.kill_points FOLDER OPERATION

Each child is forked, as a worker that dies; a process that had the store open before goes on with it.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from swarm.storage.syscalls import fault_hook
from swarm.storage.team import Team
from tests.support.faults import KillAt, Point
from tests.support.stores import (
    OPERATIONS,
    check_recovery,
    check_tasks,
    copied,
    prepare,
    recorded,
    reopened,
    state_of,
    states_around,
)


def main(folder: str, name: str) -> None:
    template = Path(folder) / "template"
    prepare(template).close()
    before, after = states_around(template, name)
    kept = {"before": 0, "after": 0, "between": 0}
    for number, point in enumerate(recorded(template, name).changing_points()):
        survivor = copied(template, number)
        survivor.tasks("w1").table()  # open already when the other one dies
        _die_in(survivor, name, point)
        seen = state_of(reopened(survivor))
        kept["before" if seen == before else "after" if seen == after else "between"] += 1
        check_recovery(survivor, name, before, after)
        check_tasks(reopened(survivor))
        survivor.close()
    sys.stdout.write(f"{kept}\n")


def _die_in(team: Team, name: str, point: Point) -> None:
    child = os.fork()
    if child == 0:
        with fault_hook(KillAt(point)):
            OPERATIONS[name](reopened(team))
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status), point
    assert os.WTERMSIG(status) == signal.SIGKILL, point


if __name__ == "__main__":
    main(*sys.argv[1:])
