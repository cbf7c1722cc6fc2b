"""Notices of a run that was stopped kept coming into the next run of the same name."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from swarm.core.agent import AgentRecord
from swarm.core.identity import LEADER, USER, make_run_id
from swarm.storage.team import Team
from swarm.testing.wait import wait_until
from tests.support.command import REPOSITORY, Shell, processes_of_run
from tests.support.stores import make_team
from tests.support.verbs import error_of, verb
from tests.support.worker_process import WorkerProcess, make_quick_team, quick
from tests.unit.cli.steps import a_record

pytestmark = pytest.mark.timeout(90)

SWARM = f"cd {REPOSITORY} && {sys.executable} -m swarm"
RUN, NEXT_RUN = "k3v9qd7m", "q5w2ern7"


# Whole runs


def nagging(ws: Path, name: str) -> str:
    """Return a command that goes on in the background, and in front: each of them tells the leader."""
    nag = f'(cd {ws} && touch {name}); while :; do {SWARM} send team-lead "$0 of run one"; sleep 0.2; done'
    plan = f"{SWARM} task add 'task of run one'"
    return f"setsid sh -c '{nag}; {plan}' behind >/dev/null 2>&1 & sh -c '{nag}' before"


def script_of(command: str) -> list[dict[str, Any]]:
    return [{"calls": [{"Bash": {"command": command}}]}, {"say": "Done."}]


def write_team(shell: Shell, name: str, *scripts: list[dict[str, Any]]) -> str:
    team = {
        "name": "t1",
        "workspace": "ws",
        "model": "scripted",
        "permissions": {"mode": "bypassPermissions"},
        "teammates": [{"name": f"w{n}"} for n, _ in enumerate(scripts, 1)],
        "tasks": [
            {"key": f"k{n}", "subject": f"{name} {n}", "owner": f"w{n}", "script": script}
            for n, script in enumerate(scripts, 1)
        ],
    }
    (shell.cwd / f"{name}.yaml").write_text(yaml.safe_dump(team))
    return f"{name}.yaml"


@pytest.fixture
def shell(isolated_home: Path, tmp_path: Path) -> Shell:
    (tmp_path / "ws").mkdir()
    return Shell(isolated_home, tmp_path)


@dataclass(frozen=True)
class FirstRun:
    """A run that goes on, and what all its processes are marked with."""

    process: subprocess.Popen[str]
    id: str

    def stop(self, number: signal.Signals) -> None:
        self.process.send_signal(number)
        self.process.communicate(timeout=20)


@pytest.fixture
def first_run(shell: Shell) -> Iterator[FirstRun]:
    """A run of two teammates that are busy, and both of whose commands have told the leader something."""
    run_id = ""
    ws = shell.cwd / "ws"
    scripts = [script_of(nagging(ws, name)) for name in ("one", "two")]
    run = shell.start("run", write_team(shell, "first", *scripts))
    try:
        wait_until(lambda: {"one", "two"} <= {path.name for path in ws.iterdir()}, timeout=20)
        wait_until(lambda: len(leader_mail(shell)) >= 4, timeout=20, what="four notices of the first run")
        (run_id, *_) = [agent["run_id"] for agent in shell.swarm("status", "--json").json()["agents"]]
        yield FirstRun(run, run_id.partition(".")[0])
    finally:
        run.kill()
        run.communicate()
        for pid in processes_of_run(run_id.partition(".")[0]) if run_id else ():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def leader_mail(shell: Shell) -> list[dict[str, Any]]:
    ended = shell.swarm("-t", "t1", "mail", "team-lead", "--all", "--json")
    assert ended.code == 0, ended.err
    found: list[dict[str, Any]] = ended.json()["messages"]
    return found


def delete(shell: Shell) -> None:
    assert shell.swarm("team", "delete", "t1", "--force").code == 0


def archive(shell: Shell) -> None:
    assert shell.swarm("team", "archive", "t1", "--force").code == 0


def remove_by_hand(shell: Shell) -> None:
    """As people do; then nobody ends what was left running."""
    for folder in (shell.root / "teams" / "t1", shell.root / "tasks" / "t1"):
        folder.rename(shell.cwd / f"old-{folder.parent.name}")


@pytest.mark.parametrize("clear", [delete, archive, remove_by_hand], ids=lambda how: how.__name__)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=lambda number: number.name)
def test_nothing_of_a_stopped_run_reaches_the_next(
    shell: Shell, first_run: FirstRun, number: signal.Signals, clear: Callable[[Shell], None]
) -> None:
    first_run.stop(number)
    clear(shell)
    waits = f"touch {shell.cwd}/ws/began; until [ -e {shell.cwd}/ws/go ]; do sleep 0.05; done"
    second = shell.start("run", write_team(shell, "second", script_of(waits)), "--json")
    try:
        wait_until((shell.cwd / "ws/began").exists, timeout=20)
        tried = time.monotonic() + 1.5  # what the first run left has tried several times by then
        wait_until(lambda: time.monotonic() > tried)
        (shell.cwd / "ws/go").touch()
        out, err = second.communicate(timeout=30)
    finally:
        second.kill()

    assert second.returncode == 0, err
    assert [task["subject"] for task in json.loads(out)["tasks"]] == ["second 1"]
    mail = leader_mail(shell)
    assert {message["from"] for message in mail} == {"w1"}
    assert [message["text"] for message in mail if not message["text"].startswith("{")] == []
    assert [json.loads(message["text"])["type"] for message in mail] == [
        "swarm.task_report",
        "idle_notification",
    ]
    assert first_run.id not in shell.swarm("events", "--json").out
    if clear is not remove_by_hand:
        assert processes_of_run(first_run.id) == []


def test_what_an_archived_run_said_is_found_on_request(shell: Shell, first_run: FirstRun) -> None:
    first_run.stop(signal.SIGINT)
    place = Path(shell.swarm("team", "archive", "t1", "--force", "--json").json()["archive"])

    assert "of run one" in (place / "history" / "team-lead.jsonl").read_text()


# Commands of a life that is over


CHANGES = {
    "send": ["send", "team-lead", "late"],
    "send_to_all": ["send", "*", "late"],
    "add": ["task", "add", "late"],
    "edit": ["task", "edit", "1", "--subject", "late"],
    "claim": ["task", "claim", "1"],
    "complete": ["task", "complete", "2", "--result", "late"],
    "fail": ["task", "fail", "2", "--reason", "late"],
    "release": ["task", "release", "2"],
    "cancel": ["task", "cancel", "1"],
    "retry": ["task", "retry", "3"],
    "delete": ["task", "delete", "1"],
}


def next_team(root: Path, *, has_w1: bool) -> Team:
    """Return a team of the next run: w1 is at work on task 2, 1 is pending, 3 was cancelled."""
    team = make_team(root)
    for name in (LEADER, "w1") if has_w1 else (LEADER,):
        team.agents.save(a_record(name).replace(run_id=make_run_id(NEXT_RUN, name, 1)))
    for subject in ("pending", "claimed", "cancelled"):
        assert verb(root, "task", "add", subject).code == 0
    assert verb(root, "task", "claim", "2", "--as", "w1").code == 0
    assert verb(root, "task", "cancel", "3").code == 0
    return team


def contents(root: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in root.rglob("*") if path.is_file()}


@pytest.mark.parametrize("has_w1", [True, False], ids=["w1_is_there_again", "w1_is_not_there"])
@pytest.mark.parametrize("change", CHANGES)
def test_a_command_of_an_earlier_run_changes_nothing(change: str, has_w1: bool, tmp_path: Path) -> None:
    next_team(tmp_path, has_w1=has_w1)
    before = contents(tmp_path)
    mark = {"SWARM_AGENT": "w1", "SWARM_RUN_ID": f"{RUN}.w1.1"}

    error = error_of(verb(tmp_path, *CHANGES[change], "--json", **mark))

    assert error["code"] == "wrong_agent"
    assert RUN in error["message"]
    assert contents(tmp_path) == before


@pytest.mark.parametrize("change", ["send", "add", "cancel"])
def test_a_command_of_the_life_that_is_there_is_obeyed(change: str, tmp_path: Path) -> None:
    next_team(tmp_path, has_w1=True)
    mark = {"SWARM_AGENT": "w1", "SWARM_RUN_ID": f"{NEXT_RUN}.w1.1"}

    assert verb(tmp_path, *CHANGES[change], **mark).code == 0


def test_a_command_of_a_life_that_has_stopped_changes_nothing(tmp_path: Path) -> None:
    team = next_team(tmp_path, has_w1=True)
    team.agents.end_life(f"{NEXT_RUN}.w1.1", "killed")

    mark = {"SWARM_AGENT": "w1", "SWARM_RUN_ID": f"{NEXT_RUN}.w1.1"}
    error = error_of(verb(tmp_path, *CHANGES["send"], "--json", **mark))

    assert error["code"] == "wrong_agent"


def test_a_person_and_an_agent_of_another_team_are_not_concerned(tmp_path: Path) -> None:
    """That a command says whose child it is speaks only of its own team."""
    next_team(tmp_path, has_w1=True)

    assert verb(tmp_path, *CHANGES["send"]).code == 0
    assert verb(tmp_path, *CHANGES["send"], SWARM_AGENT="w1").code == 0
    claim = verb(tmp_path, "task", "show", "2", "--json").json()["metadata"]["swarm"]["claim"]
    at_hand = {"SWARM_AGENT": "w1", "SWARM_RUN_ID": claim["run_id"]}  # as a check that a person's verb runs
    assert claim["run_id"].endswith(".cli")
    assert verb(tmp_path, *CHANGES["send"], **at_hand).code == 0
    elsewhere = {"SWARM_AGENT": "w1", "SWARM_RUN_ID": f"{RUN}.w1.1", "SWARM_TEAM": "other"}
    assert verb(tmp_path, "-t", "demo", *CHANGES["send"], **elsewhere).code == 0


# Teammates that outlive their team's folders


def replace_team(team: Team, folder: Path, *names: str) -> Team:
    """Take the folders away under a teammate, and make a team of the same name with other members."""
    Path(team.layout.team_dir).rename(folder / "old-team")
    Path(team.layout.tasks_dir).rename(folder / "old-tasks")
    work = folder / "work"
    work.rename(folder / "old-work")
    return make_quick_team(folder, *names)


@pytest.mark.parametrize("names", [("w1",), ("w2",)], ids=["w1_is_there_again", "w1_is_not_there"])
@pytest.mark.parametrize("records", [True, False], ids=["it_runs", "nothing_runs"])
def test_a_teammate_whose_team_was_replaced_does_and_says_nothing_more(
    names: tuple[str, ...], records: bool, tmp_path: Path
) -> None:
    first = make_quick_team(tmp_path, "w1")
    with WorkerProcess(first, "w1", time_scale=0.2) as worker:
        wait_until(lambda: "mail_sent" in [event.event for _, event in first.events.read()], timeout=10)
        first.close()
        second = replace_team(first, tmp_path, *names)
        if records:
            save_records(second, names)
        second.tasks(USER).create(quick())
        worker.process.wait(timeout=15)

        (task,) = second.tasks(USER).list_tasks()
        assert task.status == "pending"
        assert [*second.inbox(LEADER).history(), *second.inbox(LEADER).peek()] == []
        assert [event for _, event in second.events.read() if event.agent == "w1"] == []
        records_there = {record.name: record.run_id for record in second.agents.list_agents()}
        assert worker.run_id not in str(records_there)


def save_records(team: Team, names: tuple[str, ...]) -> None:
    for name in (LEADER, *names):
        record: AgentRecord = a_record(name, "idle").replace(run_id=make_run_id(NEXT_RUN, name, 1))
        team.agents.save(record)
