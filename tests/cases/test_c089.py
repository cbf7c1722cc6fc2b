"""Servers, zombies and open files piled up round by round until nothing could be started any more."""

from __future__ import annotations

import os
import sys
from collections import Counter
from pathlib import Path

import pytest

from swarm.testing.wait import wait_until
from tests.support.crew import BACKENDS, KEEPER, TMUX, Crew, crew, quick_task

ROUNDS = 2
ROUNDS_LONG = 50
NAMES = ("w1", "w2", "w3", "w4")
INSIDE = pytest.param("tmux", True, marks=TMUX.marks, id="tmux-in a session")
"""On a server that was there before, and lives on."""
KINDS = [
    *(pytest.param(one.values[0], False, marks=one.marks, id="tmux") if one is TMUX else (one, False)
      for one in BACKENDS),
    INSIDE,
]  # fmt: skip


def left(team: Crew) -> Counter[str]:
    """Count all that could pile up: in this process and its children, on tmux servers, and in folders."""
    servers = [
        int(team.tmux.run("display-message", "-p", "#{pid}", socket=one)) for one in team.tmux.sockets()
    ]
    return +Counter(
        processes=len(team.running()),
        zombies=sum(zombies_of(pid) for pid in (os.getpid(), *servers)),
        servers=len(servers),
        panes=sum(len(team.tmux.panes(one)) for one in team.tmux.sockets()),
        descriptors=sum(len(descriptors(pid)) for pid in (os.getpid(), *servers)),
        terminals=sum("/ptmx" in name for pid in servers for name in descriptors(pid)),
        passing=len(team.passing_files()),
    )


def descriptors(pid: int) -> list[str]:
    folder = Path(f"/proc/{pid}/fd")
    return [str(path.readlink()) for path in folder.iterdir() if path.is_symlink()]


def zombies_of(parent: int) -> int:
    found = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        found += fields[0] == "Z" and int(fields[1]) == parent
    return found


def have_settled(team: Crew) -> bool:
    """Whether each has done what leaves a file once: a task, and to say that it has none.

    One that is only ready may still take the task, and its transcript would be new in a later round.
    """
    keeps = not team.led or any(line["type"] == "assistant" for line in team.lines(KEEPER))
    idle = {one.sender for one in team.mail() if (one.summary or "").startswith("idle")}
    return keeps and team.task("a").finished and set(team.names) <= idle


def go_round(team: Crew) -> None:
    team.bring_up()
    wait_until(lambda: have_settled(team), timeout=30, what="all have settled")
    team.until_state("idle")
    assert set(team.states().values()) == {"idle"}
    if team.led:
        team.end_run()
    else:
        assert team.swarm("stop", "--all").code == 0


def run_rounds(team: Crew, rounds: int) -> list[Counter[str]]:
    """The first round makes the files that stay; after it nothing grows."""
    go_round(team)
    first, names = left(team), files(team)
    counts = [first]
    for _ in range(rounds - 1):
        go_round(team)
        wait_until(lambda: left(team) <= first, timeout=5, what=f"no more than {first}, as {left(team)} is")
        counts.append(left(team))
        assert files(team) - names == set()
    return counts


def files(team: Crew) -> set[str]:
    """Name all files of the team, of the person, and of tmux, but for mail that nobody reads."""
    places = team.home, Path(team.tmux.folder)
    return {str(path) for place in places for path in place.rglob("*") if "overflow" not in path.name}


@pytest.mark.parametrize(("backend", "inside"), KINDS)
@pytest.mark.timeout(120)
def test_nothing_is_left_of_a_round(isolated_home: Path, backend: str, inside: bool) -> None:
    with crew(backend, isolated_home, *NAMES, tasks=[quick_task("a")], inside=inside) as team:
        run_rounds(team, ROUNDS)


@pytest.mark.soak
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("backend", "inside"), KINDS)
def test_nothing_is_left_of_fifty_rounds(isolated_home: Path, backend: str, inside: bool) -> None:
    with crew(backend, isolated_home, *NAMES, tasks=[quick_task("a")], inside=inside) as team:
        counts = run_rounds(team, ROUNDS_LONG)
    sys.stdout.write(f"{backend}: {len(counts)} rounds, first {dict(counts[0])}, last {dict(counts[-1])}\n")
