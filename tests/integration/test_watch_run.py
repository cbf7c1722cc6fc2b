"""In a run one watch wakes all teammates of its process, for mail as well as for tasks."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

import pytest
import yaml

from swarm.core.identity import LEADER
from swarm.core.message import shutdown_request
from swarm.core.times import format_time
from swarm.settings import Settings
from swarm.storage.clock import SystemClock
from swarm.storage.mail import send
from swarm.storage.team import Team, open_team
from swarm.testing.wait import wait_until
from tests.support.command import Shell

LONG = "30"
"""Time scale at which a teammate looks by itself each half minute."""
TEAM = {
    "name": "t1",
    "workspace": "ws",
    "model": "scripted",
    "permissions": {"mode": "bypassPermissions"},
    "teammates": [{"name": "w1"}, {"name": "w2"}],
    "tasks": [
        {
            "key": "a",
            "subject": "A",
            "owner": "w2",
            "script": [
                {"calls": [{"Bash": {"command": "until [ -e go ]; do sleep 0.05; done"}}]},
                {"say": "Done."},
            ],
        }
    ],
}


def inotify_instances(pid: int) -> int:
    count = 0
    for fd in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # it opens and closes files all the time
            count += os.readlink(fd) == "anon_inode:inotify"
    return count


def state(team: Team, name: str) -> str | None:
    record = team.agents.load(name)
    return record.state if record else None


@pytest.mark.skipif(not Path("/proc/sys/fs/inotify").exists(), reason="inotify is Linux's")
def test_mail_wakes_an_idle_teammate_of_a_run(tmp_path: Path) -> None:
    """Only the watch tells of mail: the leader itself looks at tasks alone."""
    (tmp_path / "ws").mkdir()
    (tmp_path / "team.yaml").write_text(yaml.safe_dump(TEAM))
    shell = Shell(tmp_path, tmp_path)
    run = shell.start("run", "team.yaml", SWARM_TIME_SCALE=LONG)
    try:
        wait_until((shell.root / "teams" / "t1" / "config.json").exists, timeout=15)
        team = open_team(str(shell.root), "t1", Settings(), SystemClock())
        wait_until(lambda: (state(team, "w1"), state(team, "w2")) == ("idle", "working"), timeout=15)
        settled = time.monotonic() + 1.0  # what woke it at the start is over by then
        wait_until(lambda: time.monotonic() > settled)
        send(team, LEADER, "w1", shutdown_request(LEADER, "w1", format_time(team.clock.now())))

        wait_until(lambda: state(team, "w1") == "stopped", timeout=5, what="w1 has obeyed")
        (tmp_path / "ws" / "go").touch()
        run.communicate(timeout=15)
    finally:
        run.kill()
        run.communicate()
    assert run.returncode == 0


@pytest.mark.skipif(not Path("/proc/sys/fs/inotify").exists(), reason="inotify is Linux's")
@pytest.mark.parametrize(("backend", "watches"), [("in-process", 1), ("process", 0)])
def test_a_leader_watches_for_those_alone_that_share_its_process(
    tmp_path: Path, backend: str, watches: int
) -> None:
    """The others watch by themselves, and a user has few inotify instances."""
    (tmp_path / "ws").mkdir()
    (tmp_path / "team.yaml").write_text(yaml.safe_dump(TEAM))
    shell = Shell(tmp_path, tmp_path)
    run = shell.start("run", "team.yaml", "--backend", backend)
    try:
        wait_until((shell.root / "teams" / "t1" / "config.json").exists, timeout=15)
        team = open_team(str(shell.root), "t1", Settings(), SystemClock())
        wait_until(lambda: state(team, "w2") == "working", timeout=20)
        assert inotify_instances(run.pid) == watches
        (tmp_path / "ws" / "go").touch()
        _, said = run.communicate(timeout=20)
    finally:
        run.kill()
        run.communicate()
    assert run.returncode == 0, said
