"""A whole run whose teammates are processes: killed as they are, it ends well, or truthfully."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from swarm.testing.wait import wait_until
from tests.support.command import Shell, processes_of_run

pytestmark = pytest.mark.timeout(90)

ONCE = "test -e began || { touch began; sleep 600; }"


@pytest.fixture
def shell(tmp_path: Path) -> Any:
    home, cwd = tmp_path / "home", tmp_path / "cwd"
    home.mkdir()
    (cwd / "ws").mkdir(parents=True)
    made = Shell(home, cwd)
    yield made
    for process in made.started:
        with process:
            process.kill()


def write_team(shell: Shell, command: str, *teammates: str) -> None:
    team = {
        "name": "t1",
        "workspace": "ws",
        "model": "scripted",
        "permissions": {"mode": "bypassPermissions"},
        "teammates": [{"name": name} for name in teammates],
        "tasks": [
            {
                "key": "a",
                "subject": "Do it",
                "script": [{"calls": [{"Bash": {"command": command}}]}, {"say": "Done."}],
            },
            {"key": "b", "subject": "Go on", "blocked_by": ["a"], "script": [{"say": "Done."}]},
        ],
    }
    (shell.cwd / "team.yaml").write_text(yaml.safe_dump(team), encoding="utf-8")


def begin(shell: Shell, **environ: str) -> subprocess.Popen[str]:
    """Start the run and wait until its first command runs."""
    backend = () if "SWARM_BACKEND" in environ else ("--backend", "process")
    going = shell.start("run", "team.yaml", *backend, "--json", **environ)
    wait_until(lambda: (shell.cwd / "ws" / "began").exists() or going.poll() is not None, timeout=30)
    assert going.poll() is None, going.communicate()
    return going


def agents(shell: Shell) -> dict[str, dict[str, Any]]:
    return {agent["name"]: agent for agent in shell.swarm("status", "--json").json()["agents"]}


def task(shell: Shell, number: str = "1") -> dict[str, Any]:
    found: dict[str, Any] = shell.swarm("task", "show", number, "--json").json()
    return found


def events(shell: Shell, kind: str) -> list[dict[str, Any]]:
    lines = (shell.root / "teams/t1/events.jsonl").read_text(encoding="utf-8").splitlines()
    return [event for event in map(json.loads, lines) if event["event"] == kind]


def test_a_lone_worker_that_dies_gets_a_new_life(shell: Shell) -> None:
    """The next life goes on with the session of the one before it."""
    write_team(shell, ONCE, "w1")
    going = begin(shell)
    os.kill(agents(shell)["w1"]["pid"], signal.SIGKILL)
    out, err = going.communicate(timeout=60)

    assert going.returncode == 0, err
    (restarted,) = events(shell, "agent_restarted")
    assert restarted["run_id"].endswith(".w1.2")
    assert agents(shell)["w1"]["run_id"] == restarted["run_id"]
    assert {one["owner"] for one in json.loads(out)["tasks"]} == {"w1"}


@pytest.mark.parametrize("backend", ["process", "in-process"])
def test_a_teammate_that_a_person_starts_anew_is_waited_for(shell: Shell, backend: str) -> None:
    """Between its two lives nobody is there who could go on, which would else end the run."""
    write_team(shell, "touch began; while [ ! -e go ]; do sleep 0.05; done", "w1")
    going = begin(shell, SWARM_BACKEND=backend)
    restarted = shell.swarm("restart", "w1", "--backend", "process")
    assert restarted.code == 0, restarted.err
    assert going.poll() is None, going.communicate()
    (shell.cwd / "ws/go").touch()
    out, err = going.communicate(timeout=60)

    assert going.returncode == 0, (out, err)
    assert json.loads(out)["outcome"] == "completed"
    assert len(events(shell, "agent_restarted")) == 1


def test_a_worker_that_keeps_dying_is_given_up(shell: Shell) -> None:
    """The run ends by itself, says so with its exit code, and names the task that nobody did."""
    write_team(shell, ONCE, "w1")
    going = begin(shell)
    record = shell.root / "teams/t1/agents/w1.json"
    killed: set[int] = set()
    while going.poll() is None:
        found = json.loads(record.read_text(encoding="utf-8"))
        if found["state"] not in {"starting", "stopped"} and found["pid"] not in killed:
            os.kill(found["pid"], signal.SIGKILL)
            killed.add(found["pid"])
        time.sleep(0.01)
    out, err = going.communicate()

    assert going.returncode == 6, err
    assert len(killed) == 1 + 3
    assert len(events(shell, "agent_restarted")) == 3
    first = json.loads(out)["tasks"][0]
    assert first["status"] == "pending"
    assert "SIGKILL" in first["reason"]
    assert os.listdir(shell.root / "teams/t1/.spawn") == []


def test_a_worker_that_a_person_stops_stays_stopped(shell: Shell) -> None:
    """Asked to go, it goes; nobody starts it anew, and the others do its work."""
    write_team(shell, ONCE, "w1", "w2")
    going = begin(shell)
    owner = task(shell)["owner"]
    os.kill(agents(shell)[owner]["pid"], signal.SIGTERM)
    _, err = going.communicate(timeout=60)

    assert going.returncode == 0, err
    assert events(shell, "agent_restarted") == []
    assert agents(shell)[owner]["reason"] == "asked"
    assert task(shell)["owner"] != owner
    assert "crashes" not in task(shell)["metadata"]["swarm"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_run_in_order(shell: Shell, number: signal.Signals) -> None:
    """Exit 130, the task is free again, no worker and no command of ours lives on."""
    write_team(shell, ONCE, "w1", "w2")
    going = begin(shell)

    going.send_signal(number)
    out, err = going.communicate(timeout=30)

    assert going.returncode == 130, err
    assert task(shell)["status"] == "pending"
    assert processes_of_run(json.loads(out)["run"]) == []
    assert {agent["state"] for agent in agents(shell).values()} == {"stopped"}


def test_a_second_interrupt_ends_at_once_who_does_not_hear(shell: Shell) -> None:
    """Also a worker that has been paused; what it held is free."""
    write_team(shell, ONCE, "w1")
    going = begin(shell)
    os.kill(agents(shell)["w1"]["pid"], signal.SIGSTOP)
    going.send_signal(signal.SIGINT)
    time.sleep(0.3)
    interrupted = time.monotonic()
    going.send_signal(signal.SIGINT)
    out, err = going.communicate(timeout=30)

    assert going.returncode == 130, err
    assert time.monotonic() - interrupted < 5
    assert task(shell)["status"] == "pending"
    assert processes_of_run(json.loads(out)["run"]) == []
    assert agents(shell)["w1"]["reason"] == "killed"


def test_a_worker_that_cannot_come_up_ends_the_run_with_its_name(shell: Shell) -> None:
    """And nothing of it is left: not on the roster, no process, no file with keys."""
    write_team(shell, ONCE, "w1")
    ended = shell.swarm(
        "run", "team.yaml", "--backend", "process", "--json", SWARM_TIME_SCALE="0.0001", timeout=60
    )

    assert (ended.code, json.loads(ended.err)["error"]["code"]) == (4, "not_started")
    assert "w1 did not start" in json.loads(ended.err)["error"]["message"]
    assert [name for name in agents(shell) if name != "team-lead"] == []
    assert os.listdir(shell.root / "teams/t1/.spawn") == []


def test_a_task_stays_completed_when_its_worker_is_killed_afterwards(shell: Shell) -> None:
    """How a process ends says nothing about what it had finished."""
    write_team(shell, "true", "w1", "w2")
    text = (shell.cwd / "team.yaml").read_text(encoding="utf-8")
    team = yaml.safe_load(text)
    team["tasks"][0]["owner"] = "w1"
    team["tasks"][1] |= {
        "owner": "w2",
        "script": [{"calls": [{"Bash": {"command": "touch began; sleep 3"}}]}, {"say": "Done."}],
    }
    (shell.cwd / "team.yaml").write_text(yaml.safe_dump(team), encoding="utf-8")
    going = begin(shell)
    before = task(shell)
    os.kill(agents(shell)["w1"]["pid"], signal.SIGKILL)
    _, err = going.communicate(timeout=60)

    assert going.returncode == 0, err
    assert before["status"] == "completed"
    assert task(shell) == before
    assert len(events(shell, "agent_died")) == 1
