"""A lead ended, by a crash or a closed terminal, and its workers lived on for days."""

from __future__ import annotations

import json
import os
import pty
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from swarm.testing.wait import wait_until
from tests.e2e.steps import a_task, status_of, write_team
from tests.support.command import Shell, processes_of_run

pytestmark = pytest.mark.timeout(90)

LIMIT_SECONDS = 15.0
SCALE = 0.1
BACKENDS = [
    "in-process",
    "process",
    pytest.param(
        "tmux",
        marks=[
            pytest.mark.tmux,
            pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed"),
        ],
    ),
]
ON_TERMINAL = 'exec "$@" <>"$0" >&0 2>&0'
"""Who leads a session gets the first terminal that it opens as its own."""
WAITS = "touch {name}; while [ ! -e go ]; do sleep 0.05; done"


class Lead:
    """A run with two busy teammates, led on a terminal of its own."""

    def __init__(self, shell: Shell, backend: str) -> None:
        self.shell = shell
        tasks = [
            a_task(name, [{"calls": [{"Bash": {"command": WAITS.format(name=name)}}]}] * 3, owner=name)
            for name in ("w1", "w2")
        ]
        mode = {"mode": "bypassPermissions"}
        file = write_team(shell, tasks, teammates=[{"name": "w1"}, {"name": "w2"}], permissions=mode)
        self.terminal, theirs = pty.openpty()
        line = [sys.executable, "-m", "swarm", "run", file, "--backend", backend]
        environ = shell.environ(SWARM_TIME_SCALE=str(SCALE), TERM="dumb")
        self.process = subprocess.Popen(
            ["/bin/sh", "-c", ON_TERMINAL, os.ttyname(theirs), *line],
            cwd=shell.cwd,
            env=environ,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(theirs)
        for name in ("w1", "w2"):
            wait_until((shell.cwd / "ws" / name).exists, timeout=30, what=f"{name} works")
        record = json.loads((shell.root / "teams/t1/agents/team-lead.json").read_text())
        self.run = record["run_id"].partition(".")[0]

    def hang_up(self) -> None:
        os.close(self.terminal)
        self.terminal = -1

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        if self.terminal >= 0:
            os.close(self.terminal)

    def turns(self) -> int:
        """Count how often the model has answered."""
        texts = [path.read_text() for path in (self.shell.root / "teams/t1/transcripts").glob("*.jsonl")]
        return sum(text.count('"type": "assistant"') + text.count('"type":"assistant"') for text in texts)

    def is_missed(self) -> bool:
        """Whether both teammates know that it is gone; they look once a second."""
        logs = [self.shell.root / f"teams/t1/logs/{name}.log" for name in ("w1", "w2")]
        return all("leader is gone" in log.read_text() for log in logs)

    def tasks(self) -> list[str]:
        return [status_of(self.shell, task)["status"] for task in ("1", "2")]


@pytest.fixture
def shell(isolated_home: Path, tmp_path: Path) -> Iterator[Shell]:
    made = Shell(isolated_home, tmp_path)
    yield made
    if (made.root / "teams/t1").exists():
        made.swarm("-t", "t1", "stop", "--all", "--force")


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, None], ids=str)
def test_nothing_outlives_a_lead_that_can_act(shell: Shell, backend: str, how: signal.Signals | None) -> None:
    """Also when its terminal is closed, so that nothing can be said any more."""
    lead = Lead(shell, backend)
    try:
        if how is None:
            lead.hang_up()
        else:
            lead.process.send_signal(how)
        wait_until(lambda: lead.process.poll() is not None, timeout=LIMIT_SECONDS, what="the lead ends")
        wait_until(lambda: not processes_of_run(lead.run), timeout=LIMIT_SECONDS, what="all have ended")

        assert lead.process.returncode == 130
        assert lead.tasks() == ["pending", "pending"]
    finally:
        lead.end()


@pytest.mark.parametrize("backend", BACKENDS[1:])
def test_who_outlives_a_killed_lead_asks_no_model_and_ends(shell: Shell, backend: str) -> None:
    lead = Lead(shell, backend)
    try:
        lead.process.kill()
        lead.process.wait()
        assert processes_of_run(lead.run)
        wait_until(lead.is_missed, timeout=LIMIT_SECONDS, what="it has been noticed")
        (shell.cwd / "ws/go").touch()
        wait_until(lambda: not processes_of_run(lead.run), timeout=LIMIT_SECONDS, what="all have ended")

        assert lead.turns() == 2
        assert lead.tasks() == ["pending", "pending"]
        agents = shell.swarm("status", "--json").json()["agents"]
        assert [(agent["state"], agent["reason"]) for agent in agents] == [("stopped", "orphaned")] * 2
    finally:
        lead.end()
