"""`kill -9` of a worker in the middle of its task, at real time, in each backend that gives it a process."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml

from swarm.storage.processes import start_ticks
from swarm.testing.wait import wait_until
from tests.support.command import Shell, processes_of_run
from tests.support.private_tmux import needs_tmux, private_tmux

pytestmark = pytest.mark.timeout(90)

FINISHED_WITHIN_SECONDS = 15
CHILDREN = (
    "setsid sleep 600 & echo $! >> pids.new; setsid -f sleep 601; sleep 602 & echo $! >> pids.new; "
    "echo $$ >> pids.new; mv pids.new pids; wait"
)
"""Children in other sessions, one of them an orphan."""

ONCE = {"Bash": {"command": f"test -e pids || {{ {CHILDREN}; }}"}}
TEAM = {
    "name": "t1",
    "workspace": "ws",
    "model": "scripted",
    "permissions": {"mode": "bypassPermissions"},
    "teammates": [{"name": "w1"}, {"name": "w2"}],
    "tasks": [
        {
            "key": "a",
            "subject": "Do it",
            "script": [
                {"calls": [{"Bash": {"command": f"test -e pids || {{ {CHILDREN}; }}"}}]},
                {"say": "Done."},
            ],
        },
        {"key": "b", "subject": "Go on", "blocked_by": ["a"], "script": [{"say": "Done."}]},
    ],
}


@pytest.fixture(params=["process", pytest.param("tmux", marks=needs_tmux)])
def backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    home, cwd = tmp_path / "home", tmp_path / "cwd"
    home.mkdir()
    (cwd / "ws").mkdir(parents=True)
    (cwd / "team.yaml").write_text(yaml.safe_dump(TEAM), encoding="utf-8")
    made = Shell(home, cwd)
    yield made
    for process in made.started:
        with process:
            process.kill()
    if (made.root / "teams/t1").exists():
        made.swarm("-t", "t1", "stop", "--all", "--force")


def read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def is_done(shell: Shell) -> bool:
    with suppress(ValueError):  # in the middle of a write
        return bool(read(shell.root / "tasks/t1/1.json")["status"] == "completed")
    return False


def test_its_task_is_finished_by_another(shell: Shell, backend: str) -> None:
    """Within seconds; nothing of its command is left, and what it says late is refused."""
    with private_tmux() as tmux:
        more = {"SWARM_TIME_SCALE": "1", "TMUX_TMPDIR": tmux.folder}
        going = shell.start("run", "team.yaml", "--backend", backend, "--json", **more)
        wait_until((shell.cwd / "ws/pids").exists, timeout=30, what="its command runs")
        task = read(shell.root / "tasks/t1/1.json")
        claim, owner = task["metadata"]["swarm"]["claim"], task["owner"]
        run = claim["run_id"].partition(".")[0]
        tools = [int(line) for line in (shell.cwd / "ws/pids").read_text().split()]
        assert len(tools) == 3
        assert all(start_ticks(pid) for pid in tools)

        os.kill(read(shell.root / f"teams/t1/agents/{owner}.json")["pid"], signal.SIGKILL)
        killed = time.monotonic()
        wait_until(
            lambda: read(shell.root / "tasks/t1/1.json")["status"] == "completed",
            timeout=30,
            what="it is done",
        )
        assert time.monotonic() - killed < FINISHED_WITHIN_SECONDS
        out, err = going.communicate(timeout=30)

        assert (going.returncode, json.loads(out)["backend"]) == (0, backend), err
        assert tmux.sockets() == []
    assert not any(start_ticks(pid) for pid in tools)
    assert processes_of_run(run) == []
    assert os.listdir(shell.root / "teams/t1/.spawn") == []
    done = read(shell.root / "tasks/t1/1.json")["metadata"]["swarm"]
    assert done["claim"]["run_id"] != claim["run_id"]
    assert (done["crashes"], done.get("attempts", 0)) == (1, 0)
    events = map(json.loads, (shell.root / "teams/t1/events.jsonl").read_text().splitlines())
    (died,) = [event for event in events if event["event"] == "agent_died"]
    assert died["run_id"] == claim["run_id"]
    late = shell.swarm("task", "complete", "1", "--as", owner, "--token", claim["token"], "--json")
    assert (late.code, json.loads(late.err)["error"]["code"]) == (4, "stale_token")
