"""Starting anew emptied the folders of teams and tasks: after a crash every team was lost."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest
import yaml

from swarm.testing.wait import wait_until
from tests.support.command import Shell, processes_of_run
from tests.support.verbs import verb

pytestmark = pytest.mark.timeout(60)


@pytest.fixture
def shell(isolated_home: Path, tmp_path: Path) -> Shell:
    return Shell(isolated_home, tmp_path)


def fill(root: Path, team: str) -> None:
    """Make a team with a task in each state and mail that nobody has read."""
    for words in (
        ["team", "create", team],
        *(["task", "add", f"{team} {n}"] for n in range(5)),
        ["task", "add", "waits", "--blocked-by", "1"],
        ["task", "claim", "2", "--as", "w2"],
        ["task", "claim", "3", "--as", "w3"],
        ["task", "complete", "3", "--as", "w3", "--result", "valuable"],
        ["task", "claim", "4", "--as", "w4"],
        ["task", "fail", "4", "--as", "w4", "--reason", "no"],
        ["task", "cancel", "5"],
        ["send", "team-lead", f"for {team}"],
    ):
        assert verb(root, *words, SWARM_TEAM=team).code == 0, words


def seen(root: Path, team: str) -> list[Any]:
    tasks = [verb(root, "-t", team, "task", "show", str(n), "--json").json() for n in range(1, 7)]
    mail = verb(root, "-t", team, "mail", "team-lead", "--json").json()
    return [*tasks, mail, verb(root, "team", "show", team, "--json").json()]


def write_team(shell: Shell, name: str, command: str) -> str:
    team = {
        "name": name,
        "workspace": ".",
        "model": "scripted",
        "permissions": {"mode": "bypassPermissions"},
        "teammates": [{"name": "w1"}],
        "tasks": [
            {
                "key": "a",
                "subject": "A",
                "script": [{"calls": [{"Bash": {"command": command}}]}, {"say": "Done."}],
            }
        ],
    }
    (shell.cwd / f"{name}.yaml").write_text(yaml.safe_dump(team))
    return f"{name}.yaml"


def test_a_killed_leader_and_a_new_one_leave_every_team_as_it_was(shell: Shell) -> None:
    for team in ("alpha", "beta"):
        fill(shell.root, team)
    before = {team: seen(shell.root, team) for team in ("alpha", "beta")}
    leader = shell.start("run", write_team(shell, "gamma", "sleep 60"), "--json")
    record = shell.root / "teams/gamma/agents/w1.json"
    try:
        wait_until(lambda: record.exists() and "toolu" in record.read_text(), timeout=20)
    finally:
        os.kill(leader.pid, signal.SIGKILL)
        leader.communicate()

    ran = shell.swarm("run", write_team(shell, "delta", "true"), "--json", SWARM_TIME_SCALE="0.2")

    assert ran.code == 0, ran.err
    assert {team: seen(shell.root, team) for team in before} == before
    held = verb(shell.root, "-t", "gamma", "task", "show", "1", "--json").json()
    assert (held["status"], held["owner"]) == ("in_progress", "w1")
    assert verb(shell.root, "-t", "gamma", "doctor", "--fix").code == 0
    freed = verb(shell.root, "-t", "gamma", "task", "show", "1", "--json").json()
    assert (freed["status"], freed["metadata"]["swarm"]["crashes"]) == ("pending", 1)
    run = json.loads(record.read_text())["run_id"].partition(".")[0]
    assert processes_of_run(run) == []


WAITS = "touch began; while [ ! -e go ]; do sleep 0.05; done"


def a_task(key: str, *turns: dict[str, Any], **facts: Any) -> dict[str, Any]:
    return {"key": key, "subject": key, "script": [*turns, {"say": f"{key} is done"}], **facts}


def write_states(shell: Shell) -> str:
    """Write a team whose run comes to rest with a task in each state: w1 works until it is told."""
    works = {"calls": [{"Bash": {"command": WAITS, "timeout": 600_000}}]}
    team = {
        "name": "alpha",
        "workspace": ".",
        "model": "scripted",
        "permissions": {"mode": "bypassPermissions"},
        "teammates": [{"name": "w1"}, {"name": "w2"}],
        "tasks": [
            a_task("done", owner="w2"),
            a_task("failed", {"calls": [{"Bash": {"command": "false"}}]}, owner="w2", blocked_by=["done"]),
            a_task("works", works, owner="w1"),
            a_task("waits", owner="w2", blocked_by=["works"]),
            a_task("dropped", owner="w2", blocked_by=["works"]),
        ],
    }
    (shell.cwd / "alpha.yaml").write_text(yaml.safe_dump(team))
    return "alpha.yaml"


def states(shell: Shell) -> dict[str, str]:
    shown = shell.swarm("-t", "alpha", "task", "list", "--json")
    return {one["key"]: one["status"] for one in shown.json()["tasks"]} if shown.code == 0 else {}


def files_of(root: Path, team: str) -> dict[str, bytes]:
    folders = (root / "teams" / team, root / "tasks" / team)
    found = {str(path): path.read_bytes() for one in folders for path in one.rglob("*") if path.is_file()}
    return {name: data for name, data in found.items() if "/.locks/" not in name}


def what_is_alphas(shell: Shell) -> dict[str, Any]:
    """Return who has which task with what result, and the mail that nobody has read."""
    tasks = [verb(shell.root, "-t", "alpha", "task", "show", str(n), "--json").json() for n in range(1, 6)]
    mail = verb(shell.root, "-t", "alpha", "mail", "w1", "--json").json()["messages"]
    return {"tasks": tasks, "mail": mail}


def test_a_new_leader_of_one_team_keeps_all_of_it_and_leaves_the_other_alone(shell: Shell) -> None:
    """Killed in the midst of its work, with a task in each state and unread mail, and led again."""
    fill(shell.root, "beta")
    environ = {"SWARM_BACKEND": "process"}
    leader = shell.start("run", write_states(shell), "--json", **environ)
    now = {"done": "completed", "failed": "failed", "works": "in_progress", "waits": "pending"}
    wait_until((shell.cwd / "began").exists, timeout=30, what="w1 works")
    wait_until(lambda: now.items() <= states(shell).items(), timeout=30, what="a task in each state")
    assert verb(shell.root, "-t", "alpha", "task", "cancel", "5").code == 0
    assert verb(shell.root, "-t", "alpha", "send", "w1", "read me").code == 0
    before, beta = what_is_alphas(shell), files_of(shell.root, "beta")
    leader.kill()
    leader.communicate()

    following = shell.start("resume", "alpha", "--json", **environ)
    record = shell.root / "teams/alpha/agents/team-lead.json"
    wait_until(lambda: leads(record, following.pid), timeout=30, what="another leads")
    listed = {one["name"]: one for one in shell.swarm("team", "list", "--json").json()["teams"]}

    assert what_is_alphas(shell) == before
    assert [message["text"] for message in before["mail"]] == ["read me"]
    assert states(shell) == now | {"dropped": "cancelled"}
    assert (listed["alpha"]["leader"], sorted(listed)) == ("alive", ["alpha", "beta"])
    assert files_of(shell.root, "beta") == beta
    (shell.cwd / "go").touch()
    following.communicate(timeout=60)
    assert states(shell)["waits"] == "completed"
    assert files_of(shell.root, "beta") == beta


def leads(record: Path, pid: int) -> bool:
    found = json.loads(record.read_text())
    return (found["pid"], found["state"]) == (pid, "working")
