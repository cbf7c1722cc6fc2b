"""A run whose leader was killed is taken up: the living go on, the dead get a next life."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from swarm.storage.processes import start_ticks
from swarm.testing.wait import wait_until
from tests.e2e.steps import a_task, status_of, write_team
from tests.support.command import Ended, Shell

pytestmark = pytest.mark.timeout(90)

WAITS = "echo $SWARM_RUN_ID >> runs; touch began; while [ ! -e go ]; do sleep 0.05; done"
TASKS = [
    a_task("first", [{"calls": [{"Bash": {"command": WAITS}}]}, {"say": "Done."}], owner="w1"),
    a_task("second", owner="w2", blocked_by=["first"]),
]
TWO = [{"name": "w1"}, {"name": "w2"}]
EVERYTHING = {"mode": "bypassPermissions"}


@pytest.fixture
def shell(isolated_home: Path, tmp_path: Path) -> Iterator[Shell]:
    made = Shell(isolated_home, tmp_path)
    yield made
    for process in made.started:
        process.kill()
    if (made.root / "teams/t1").exists():
        made.swarm("-t", "t1", "stop", "--all", "--force")


@pytest.fixture
def file(shell: Shell) -> str:
    return write_team(shell, TASKS, teammates=TWO, permissions=EVERYTHING)


def record(shell: Shell, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((shell.root / f"teams/t1/agents/{name}.json").read_text())
    return found


def begin(shell: Shell, file: str, backend: str) -> subprocess.Popen[str]:
    """Start a run and wait until w1 is in the middle of its command."""
    run = shell.start("run", file, "--backend", backend, "--json")
    wait_until((shell.cwd / "ws/began").exists, timeout=30, what="w1 works")
    wait_until(lambda: record(shell, "w2")["state"] == "idle", timeout=15, what="w2 is there")
    return run


def kill(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


def go(shell: Shell) -> None:
    (shell.cwd / "ws/go").touch()


def completed(ended: Ended) -> dict[str, Any]:
    assert ended.code == 0, ended.err
    result: dict[str, Any] = ended.json()
    assert result["outcome"] == "completed"
    assert [task["status"] for task in result["tasks"]] == ["completed", "completed"]
    return result


def error(ended: Ended) -> dict[str, Any]:
    assert ended.out == ""
    found: dict[str, Any] = json.loads(ended.err)["error"]
    return found


def nothing_runs(shell: Shell) -> None:
    pids = [record(shell, name)["pid"] for name in ("w1", "w2", "team-lead")]
    assert all(start_ticks(pid) is None for pid in pids)


def transcript(shell: Shell, name: str) -> list[dict[str, Any]]:
    path = shell.root / f"teams/t1/transcripts/{name}.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_teammates_that_died_with_their_leader_get_a_next_life(shell: Shell, file: str) -> None:
    kill(begin(shell, file, "in-process"))
    agents = shell.swarm("status", "--json").json()["agents"]
    assert [agent["state"] for agent in agents] == ["dead", "dead"]
    before = record(shell, "team-lead")["run_id"]
    go(shell)

    result = completed(shell.swarm("resume", "t1", "--json"))
    assert (result["run"], result["backend"]) == (before.split(".")[0], "in-process")
    assert record(shell, "team-lead")["run_id"] == before[:-1] + "2"
    assert record(shell, "w1")["run_id"].endswith(".w1.2")
    nothing_runs(shell)
    lines = transcript(shell, "w1")
    assert any(line["type"] == "start" and line["cause"] == "resume" for line in lines)
    runs = (shell.cwd / "ws/runs").read_text().split()
    assert len(runs) == len(set(runs)), "a command was run twice in one life"


def test_teammates_that_live_go_on(shell: Shell, file: str) -> None:
    run = begin(shell, file, "process")
    kill(run)
    before = {name: record(shell, name)["run_id"] for name in ("w1", "w2")}
    resumed = shell.start("resume", "t1", "--json")
    wait_until(lambda: record(shell, "team-lead")["run_id"].endswith(".2"), timeout=15, what="it leads")
    go(shell)
    out, err = resumed.communicate(timeout=40)

    completed(Ended(resumed.returncode, out, err))
    assert {name: record(shell, name)["run_id"] for name in before} == before
    assert len((shell.cwd / "ws/runs").read_text().split()) == 1
    nothing_runs(shell)


def test_after_a_boot_all_are_dead_and_the_run_goes_on(shell: Shell, file: str) -> None:
    """The numbers of processes mean others then: nothing may be killed by them."""
    kill(begin(shell, file, "process"))
    others = subprocess.Popen(["sleep", "60"])
    for name in ("w1", "w2", "team-lead"):
        found = record(shell, name)
        if name != "team-lead":
            os.kill(found["pid"], signal.SIGKILL)
        for tool in found.get("tools", []):
            os.killpg(tool["pgid"], signal.SIGKILL)
        changed = found | {"boot_id": "before", "pid": others.pid, "start_ticks": start_ticks(others.pid)}
        (shell.root / f"teams/t1/agents/{name}.json").write_text(json.dumps(changed))
    try:
        agents = shell.swarm("status", "--json").json()["agents"]
        assert [agent["state"] for agent in agents] == ["dead", "dead"]
        go(shell)
        completed(shell.swarm("resume", "--json"))
        assert others.poll() is None
    finally:
        others.kill()
        others.wait()


def test_it_tells_what_happens_from_then_on(shell: Shell, file: str) -> None:
    """Not once more what the run before it has told."""
    kill(begin(shell, file, "process"))
    for name in ("w1", "w2"):
        os.kill(record(shell, name)["pid"], signal.SIGKILL)
    go(shell)
    ended = shell.swarm("resume", "t1")

    assert ended.code == 0, ended.err
    assert "w2 was started anew" in ended.err
    assert "w1 died" in ended.err
    assert "w1 was started:" not in ended.err
    assert ended.err.count("team-lead started a run") == 1


def test_only_one_leads(shell: Shell, file: str) -> None:
    run = begin(shell, file, "in-process")
    refused = shell.swarm("resume", "t1", "--json")
    again = shell.swarm("run", file, "--json")

    assert (refused.code, error(refused)["code"]) == (4, "leader_alive")
    assert (again.code, error(again)["code"]) == (4, "name_taken")
    assert "is running now" in error(again)["message"]
    assert run.poll() is None
    kill(run)
    go(shell)
    both = [shell.start("resume", "t1", "--json") for _ in range(2)]
    ended = [Ended(one.wait(60), *one.communicate()) for one in both]
    assert sorted(one.code for one in ended) in ([0, 0], [0, 4])
    assert [status_of(shell, task)["status"] for task in ("1", "2")] == ["completed", "completed"]


def test_run_says_the_way_out_and_takes_it(shell: Shell, file: str) -> None:
    run = begin(shell, file, "in-process")
    run.send_signal(signal.SIGINT)
    run.communicate(timeout=30)
    go(shell)
    refused = shell.swarm("run", file, "--json")

    assert "swarm resume t1" in error(refused)["message"]
    completed(shell.swarm("run", file, "--resume", "--json"))
    completed(shell.swarm("resume", "--json"))


def test_run_with_resume_begins_where_there_is_nothing(shell: Shell, file: str) -> None:
    (shell.cwd / "ws").mkdir(exist_ok=True)
    go(shell)

    completed(shell.swarm("run", file, "--resume", "--json"))


def test_a_team_that_no_run_made_has_none_to_take_up(shell: Shell) -> None:
    assert shell.swarm("team", "create", "t1", "--workspace", str(shell.cwd)).code == 0
    refused = shell.swarm("resume", "t1", "--json")

    assert (refused.code, error(refused)["code"]) == (4, "nothing_ready")
    assert shell.swarm("resume", "nobody").code == 3
    assert shell.swarm("resume", "t1", SWARM_AGENT="w1").code == 5


def test_who_joins_by_hand_ends_with_the_run(shell: Shell, file: str) -> None:
    run = begin(shell, file, "process")
    assert shell.swarm("spawn", "w3", "--backend", "process").code == 0
    assert record(shell, "w3")["leader"] == record(shell, "team-lead")["run_id"]
    go(shell)
    out, err = run.communicate(timeout=40)

    completed(Ended(run.returncode, out, err))
    assert (record(shell, "w3")["state"], record(shell, "w3")["reason"]) == ("stopped", "asked")
    assert start_ticks(record(shell, "w3")["pid"]) is None
