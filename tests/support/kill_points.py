"""A program that kills children in the middle of an operation, at every place, and checks what is left.

    python -m tests.support.kill_points FOLDER OPERATION [STEP]

Each child is forked, as a worker that dies; a process that had the store open before goes on with it. With
STEP the next process, which repeats the operation, is killed as well, at one in STEP of its places.
"""

from __future__ import annotations

import sys
from itertools import count
from pathlib import Path

from swarm.storage.team import Team
from tests.support.faults import Point, die_at
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


def twice(folder: str, name: str, step: str) -> None:
    """For operations that may be repeated: the outcome is that of one that nobody disturbed."""
    template = Path(folder) / "template"
    prepare(template).close()
    _, after = states_around(template, name)
    numbers = count()
    for first, point in enumerate(recorded(template, name).changing_points()):
        dead = copied(template, next(numbers))
        _die_in(dead, name, point)
        seconds = recorded(Path(dead.root), name, next(numbers)).changing_points()
        for second in seconds[first % int(step) :: int(step)]:
            team = copied(Path(dead.root), next(numbers))
            _die_in(team, name, second)
            OPERATIONS[name](team)
            assert state_of(reopened(team))["tasks"] == after["tasks"], (point, second)
            check_tasks(team)
            team.close()
    sys.stdout.write(f"{next(numbers)} kills\n")


def _die_in(team: Team, name: str, point: Point) -> None:
    die_at(point, OPERATIONS[name], reopened(team))


if __name__ == "__main__":
    (main if len(sys.argv) == 3 else twice)(*sys.argv[1:])
