"""A program that kills `swarm run` at every place before its first teammate, and takes up what is left.

python -m tests.support.launch_kills FOLDER
"""

from __future__ import annotations

import sys
from itertools import count
from pathlib import Path

from swarm.core.identity import USER
from swarm.core.task import Task
from swarm.leader.earlier import take_up
from swarm.leader.launch import add_missing_tasks, prepare, prepare_again
from swarm.leader.options import RunOptions
from swarm.settings import Settings
from swarm.storage.clock import SystemClock
from swarm.storage.syscalls import fault_hook
from swarm.storage.team import Team, list_teams, open_team
from swarm.teamfile.reader import load_team_file
from tests.support.faults import Recorder, die_at

SETTINGS = Settings(durability="none").scaled(0.1)
TEAM = """
name: t1
workspace: ws
model: scripted
teammates: [{name: w1}]
tasks:
  - {key: b, subject: B, blocked_by: [a], script: [{say: ok}]}
  - {key: a, subject: A, script: [{say: ok}]}
  - {key: c, subject: C, blocked_by: [a, b], owner: w1, script: [{say: ok}]}
"""


def main(folder: str) -> None:
    Path(folder, "ws").mkdir()
    Path(folder, "team.yaml").write_text(TEAM, encoding="utf-8")
    roots = (f"{folder}/R{number}" for number in count())
    recorder, root = Recorder(), next(roots)
    with fault_hook(recorder):
        begin(folder, root).close()
    expected = tasks_of(root)
    assert [task.key for task in expected] == ["a", "b", "c"]
    taken_up = 0
    for point in recorder.changing_points():
        root = next(roots)
        die_at(point, begin, folder, root)
        found = bool(list_teams(root))
        taken_up += found
        (resume if found else begin)(folder, root).close()
        assert tasks_of(root) == expected, point
    sys.stdout.write(f"{taken_up}\n")


def begin(folder: str, root: str) -> Team:
    return prepare(load_team_file(f"{folder}/team.yaml"), options(root), SETTINGS)


def resume(folder: str, root: str) -> Team:
    """Do as `swarm resume` does, which knows nothing of the first team file."""
    team = open_team(root, "t1", SETTINGS, SystemClock())
    loaded = load_team_file(team.layout.team_file)
    prepare_again(team, loaded, options(root), SETTINGS)
    take_up(team, "in-process")
    add_missing_tasks(team, loaded)
    return team


def options(root: str) -> RunOptions:
    return RunOptions(root=root, environ={})


def tasks_of(root: str) -> list[Task]:
    team = open_team(root, "t1", SETTINGS, SystemClock())
    team.tasks(USER).sweep()  # as a leader does first: what the journal says is in all files then
    tasks = team.tasks(USER).list_tasks()
    team.close()
    return [task.replace(created_at=None, updated_at=None, seq=None) for task in tasks]


if __name__ == "__main__":
    main(*sys.argv[1:])
