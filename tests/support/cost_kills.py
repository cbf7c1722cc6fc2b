"""A program that kills children inside a change of the costs, at every place, and checks the budget.

python -m tests.support.cost_kills FOLDER CHANGE
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from swarm.core.costs import parse_entry_line
from swarm.errors import StateError
from swarm.storage.syscalls import fault_hook
from swarm.storage.team import Team
from tests.support.faults import Recorder, die_at
from tests.support.stores import copied, make_team, reopened

MODEL = "claude-sonnet-5-5"
LIMIT = 200_000
WORST = 35_000  # of 10,000 tokens in and 1,000 out
LIFE, OTHER = "k3v9qd7m.w1.1", "k3v9qd7m.w2.1"


def reserve(team: Team, life: str = LIFE) -> None:
    team.costs.reserve(life, MODEL, 10_000, 1_000)


def record(team: Team, life: str = OTHER) -> None:
    usage = {"input_tokens": 10_000, "output_tokens": 1_000}
    team.costs.record(agent=life.split(".")[1], run_id=life, task="7", model=MODEL, usage=usage)


def refused(team: Team) -> None:
    with suppress(StateError):
        team.costs.reserve(LIFE, MODEL, 1_000_000, 1_000)


CHANGES: dict[str, Callable[[Team], object]] = {
    "reserve": reserve,
    "record": record,
    "refused": refused,
    "terms": lambda team: team.costs.set_terms({"budget_usd": 0.3}),
}


def main(folder: str, name: str) -> None:
    template = Path(folder) / "template"
    team = make_team(template)
    team.costs.set_terms({"budget_usd": LIMIT / 10**6})
    reserve(team, OTHER)  # its call is under way
    recorder = Recorder()
    with fault_hook(recorder):
        CHANGES[name](copied(template, -1))
    points = recorder.changing_points()
    for number, point in enumerate(points):
        survivor = copied(template, number)
        survivor.costs.table()  # read already when the other one dies
        die_at(point, CHANGES[name], reopened(survivor))
        # One line is the change: it is not there until its last byte is.
        assert survivor.costs.table().spent == reopened(survivor).costs.table().spent == WORST, point
        go_on(survivor)
    sys.stdout.write(f"{len(points)}\n")


def go_on(team: Team) -> None:
    """Call until nothing is left: each line parses, and the budget holds, to less than one more call."""
    with suppress(StateError):
        while True:
            reserve(team, "k3v9qd7m.w3.1")
            record(team, "k3v9qd7m.w3.1")
    for line in Path(team.layout.costs).read_bytes().splitlines():
        parse_entry_line(line)
    table = reopened(team).costs.table()
    assert table.limit is not None
    assert table.limit - WORST < table.spent <= table.limit


if __name__ == "__main__":
    main(*sys.argv[1:])
