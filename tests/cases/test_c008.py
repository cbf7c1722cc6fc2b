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
