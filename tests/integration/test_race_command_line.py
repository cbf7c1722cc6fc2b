"""The same race at the command line, beside workers that use the store."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from swarm.core.task import NewTask, Requires
from swarm.storage.clock import SystemClock
from swarm.storage.layout import Layout
from swarm.storage.team import Team, create_team
from tests.support.command import REPOSITORY, Shell
from tests.support.oracle import History, check_answers
from tests.support.stores import SETTINGS, check_tasks
from tests.support.task_race import answers

TASKS = 40
NAMES = ("c1", "c2", "c3")


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    home, cwd = tmp_path / "home", tmp_path / "cwd"
    home.mkdir()
    cwd.mkdir()
    return Shell(home, cwd)


def claim_and_complete(shell: Shell, name: str) -> Iterator[tuple[str, str, str]]:
    """Take tasks by commands, one at a time, until there are none; yield what the commands said."""
    while True:
        claimed = shell.swarm("task", "claim", "--as", name, "--json")
        if claimed.code != 0:
            assert '"nothing_ready"' in claimed.err
            return
        task_id, token = claimed.json()["id"], claimed.json()["token"]
        yield "claimed", task_id, token
        done = shell.swarm("task", "complete", task_id, "--as", name, "--token", token, "--result", "done")
        assert done.code == 0, done.err
        yield "completed", task_id, token


def test_commands_and_workers_share_the_tasks(shell: Shell) -> None:
    """Each task is claimed and completed once, whoever it was and however they asked."""
    root = str(shell.root)
    create_team(root, "demo", workspace="/srv/app", settings=SETTINGS, clock=SystemClock())
    team = Team(Layout(root=root).team("demo"), SETTINGS, SystemClock())
    for number in range(TASKS):  # every fourth is for somebody at the command line: they always get some
        wanted = Requires(agent=NAMES[number // 4 % 3]) if number % 4 == 0 else None
        team.tasks("user").create(NewTask(subject=f"task {number}", requires=wanted))

    command = [sys.executable, "-m", "tests.support.task_race", root, "3", "7", "kill"]
    with (
        ThreadPoolExecutor(len(NAMES)) as threads,
        subprocess.Popen(command, cwd=REPOSITORY, stderr=subprocess.PIPE, text=True) as program,
    ):
        said = list(threads.map(lambda name: list(claim_and_complete(shell, name)), NAMES))
        _, errors = program.communicate()

    assert (program.returncode, errors) == (0, "")
    check_tasks(team)
    history = History(team)
    assert history.statuses() == {"completed": TASKS}
    told = check_answers(history, [*answers(root), *(answer for one in said for answer in one)])
    assert told["refused"] == 0
    assert all(said)
