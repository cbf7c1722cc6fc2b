"""With no inotify instance left, a watcher raised an error about open files, and everything stood still."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from swarm.settings import Settings
from swarm.storage.clock import SystemClock
from swarm.storage.team import open_team
from swarm.testing.wait import wait_until
from tests.support.command import Shell

pytestmark = pytest.mark.timeout(60)

NO_INOTIFY = ["unshare", "-Ur", "sh", "-c", 'echo 0 > /proc/sys/user/max_inotify_instances; exec "$0" "$@"']
"""Runs a command for which the kernel refuses every instance; other processes of the user keep theirs."""

WAITS = [
    {"calls": [{"Bash": {"command": "touch began; until [ -e sent ]; do sleep 0.05; done"}}]},
    {"say": "Done."},
]
SAYS = [{"say": "Done."}]
TEAM = {
    "name": "t1",
    "workspace": "ws",
    "model": "scripted",
    "permissions": {"mode": "bypassPermissions"},
    "teammates": [{"name": "w1"}, {"name": "w2"}, {"name": "w3"}],
    "tasks": [
        {"key": "a", "subject": "A", "owner": "w1", "script": WAITS},
        {"key": "b", "subject": "B", "blocked_by": ["a"], "owner": "w2", "script": SAYS},
        {"key": "c", "subject": "C", "blocked_by": ["b"], "owner": "w3", "script": SAYS},
        {"key": "d", "subject": "D", "blocked_by": ["c"], "script": SAYS},
    ],
}


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """A shell that has a team file of a leader and three workers."""
    home, cwd = tmp_path / "home", tmp_path / "cwd"
    home.mkdir()
    (cwd / "ws").mkdir(parents=True)
    (cwd / "team.yaml").write_text(yaml.safe_dump(TEAM))
    return Shell(home, cwd)


def without_inotify(shell: Shell, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*NO_INOTIFY, sys.executable, "-m", "swarm", *words],
        cwd=shell.cwd,
        env=shell.environ(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.fixture(autouse=True)
def _limits() -> None:
    tried = subprocess.run([*NO_INOTIFY, "true"], capture_output=True, text=True, check=False)
    if tried.returncode or tried.stderr:
        pytest.skip("needs user namespaces, to take inotify from one process only")


def test_a_run_goes_on_by_looking_and_warns_once(shell: Shell) -> None:
    run = without_inotify(shell, "run", "team.yaml")
    try:
        wait_until((shell.cwd / "ws" / "began").exists, timeout=30)
        assert shell.swarm("send", "w1", "hello").code == 0
        (shell.cwd / "ws" / "sent").touch()
        sent = time.monotonic()
        team = open_team(str(shell.root), "t1", Settings(), SystemClock())
        wait_until(team.inbox("w1").history, timeout=10)
        took = time.monotonic() - sent
        _, err = run.communicate(timeout=30)
    finally:
        run.kill()

    assert run.returncode == 0, err
    assert took < 5
    assert [message.text for message in team.inbox("w1").history()] == ["hello"]
    assert [task.status for task in team.tasks("user").list_tasks()] == ["completed"] * 4
    assert err.count("inotify") == 2, "one line, that names what is used up and the limit"
    assert err.count("Warning") == 1
    assert "Traceback" not in err


def test_following_goes_on_by_looking_and_warns_once(shell: Shell) -> None:
    assert shell.swarm("team", "create", "t1").code == 0
    follower = without_inotify(shell, "mail", "team-lead", "--follow")
    assert follower.stdout is not None
    assert follower.stderr is not None
    try:
        assert "inotify" in follower.stderr.readline()
        sent = time.monotonic()
        assert shell.swarm("send", "team-lead", "hello").code == 0
        follower.stdout.readline()
        assert "hello" in follower.stdout.readline()
        assert time.monotonic() - sent < 5
    finally:
        follower.kill()
        _, rest = follower.communicate()

    assert rest == ""
