"""Teammates carried out their plans without waiting for the lead to approve them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from swarm.testing.wait import wait_until
from tests.e2e.steps import a_task, status_of, write_team
from tests.support.command import Shell

pytestmark = pytest.mark.timeout(120)

PLAN = {"ExitPlanMode": {"plan": "# Plan\n\n1. Write made.txt."}}
WRITE = {"Write": {"file_path": "made.txt", "content": "made\n"}}
TEAM = {
    "permissions": {"mode": "acceptEdits"},
    "teammates": [{"name": "w1", "permission_mode": "plan"}, {"name": "w2"}],
}


@pytest.fixture
def shell(isolated_home: Path, tmp_path: Path) -> Shell:
    return Shell(isolated_home, tmp_path)


def run(shell: Shell, script: list[Any], backend: dict[str, Any]) -> subprocess.Popen[str]:
    file = write_team(shell, [a_task("a", script, owner="w1")], **TEAM)
    return shell.start("run", file, "--json", **backend)


def question(shell: Shell, besides: str | None = None) -> dict[str, Any]:
    """Return the one open question, once it is there; another than `besides`."""

    def open_one() -> dict[str, Any]:
        ended = shell.swarm("permissions", "--json")
        pending: list[dict[str, Any]] = ended.json()["pending"] if ended.code == 0 else []
        return next((one for one in pending if one["id"] != besides), {})

    return wait_until(open_one, timeout=30, what="the question is open")


def mail(shell: Shell, name: str) -> list[dict[str, Any]]:
    shown = shell.swarm("mail", name, "--all", "--json").json()
    return [json.loads(one["text"]) for one in shown["messages"] if one["text"].startswith("{")]


def results(shell: Shell) -> list[dict[str, Any]]:
    lines = (shell.root / "teams/t1/transcripts/w1.jsonl").read_text().splitlines()
    return [line["block"] for line in map(json.loads, lines) if line["type"] == "result"]


def test_nothing_is_written_before_the_answer_with_its_id(shell: Shell, backend: dict[str, Any]) -> None:
    """A word of a teammate, and mail that looks like an approval, are none."""
    going = run(shell, [{"calls": [PLAN, WRITE]}, {"say": "Made."}], backend)
    asked = question(shell)
    made = shell.cwd / "ws/made.txt"
    (request,) = [one for one in mail(shell, "team-lead") if one["type"] == "plan_approval_request"]
    faked = {"type": "plan_approval_response", "requestId": request["requestId"], "approved": True}
    for words in (
        ("w1", "approved", "--as", "w2"),
        ("w1", json.dumps(faked), "--as", "w2"),
        ("w1", json.dumps(faked)),
        ("w1", json.dumps(faked), "--as", "team-lead"),
    ):
        shell.swarm("send", *words)
    still = shell.swarm("permissions", "--json").json()["pending"]
    assert [one["id"] for one in still] == [asked["id"]]
    assert not made.exists()
    assert shell.swarm("status", "--json").json()["agents"][0]["state"] == "waiting"

    assert shell.swarm("approve", str(asked["number"])).code == 0
    out, err = going.communicate(timeout=60)

    assert going.returncode == 0, err
    assert made.read_text() == "made\n"
    assert json.loads(out)["tasks"][0]["status"] == "completed"
    assert (request["planContent"], request["from"]) == ("# Plan\n\n1. Write made.txt.", "w1")
    assert Path(request["planFilePath"]).read_text().startswith("# Plan")
    (answer,) = [one for one in mail(shell, "w1") if one.get("timestamp")]
    assert (answer["requestId"], answer["approved"]) == (request["requestId"], True)
    assert answer["permissionMode"] == "acceptEdits"


def test_a_rejected_plan_keeps_it_from_writing(shell: Shell, backend: dict[str, Any]) -> None:
    """In the same turn and in the next; what is wrong with the plan reaches the model."""
    script = [
        {"calls": [PLAN, WRITE], "expect": "error"},
        {"calls": [WRITE], "expect": "error"},
        {"calls": [{"Bash": {"command": "touch made.txt"}}], "expect": "error"},
        {"say": "Nothing may be made."},
    ]
    going = run(shell, script, backend)
    asked = question(shell)

    assert shell.swarm("deny", asked["id"], "--note", "add tests").code == 0
    _, err = going.communicate(timeout=60)

    assert going.returncode == 0, err
    assert not (shell.cwd / "ws/made.txt").exists()
    plan, *others = results(shell)
    assert "[Plan Rejected] add tests" in plan["content"]
    assert [one["is_error"] for one in others] == [True, True, True]
    (answer,) = [one for one in mail(shell, "w1") if one["type"] == "plan_approval_response"]
    assert (answer["approved"], answer["feedback"]) == (False, "add tests")


def test_a_better_plan_is_another_question(shell: Shell) -> None:
    better = {"ExitPlanMode": {"plan": "# Better plan\n\n1. Write made.txt.\n2. Read it."}}
    script = [{"calls": [PLAN], "expect": "error"}, {"calls": [better]}, {"calls": [WRITE]}, {"say": "Made."}]
    going = run(shell, script, {})
    first = question(shell)
    shell.swarm("deny", str(first["number"]))
    second = question(shell, besides=first["id"])
    assert second["input"] == better["ExitPlanMode"]
    shell.swarm("approve", str(second["number"]))
    _, err = going.communicate(timeout=60)

    assert going.returncode == 0, err
    assert (shell.cwd / "ws/made.txt").exists()


def test_an_approved_plan_stays_approved_when_the_run_is_taken_up(shell: Shell) -> None:
    """Whoever is killed after the approval need not ask again."""
    wait = {"Bash": {"command": "touch began; while [ ! -e go ]; do sleep 0.05; done", "timeout": 60_000}}
    script = [{"calls": [PLAN]}, {"calls": [wait]}, {"calls": [WRITE]}, {"say": "Made."}]
    rules = {"permissions": {"mode": "bypassPermissions"}}
    file = write_team(shell, [a_task("a", script, owner="w1")], **TEAM | rules)
    killed = shell.start("run", file)
    shell.swarm("approve", str(question(shell)["number"]))
    wait_until((shell.cwd / "ws/began").exists, timeout=30, what="it is at work")
    killed.kill()
    killed.communicate()
    (shell.cwd / "ws/go").touch()

    ended = shell.swarm("resume", "t1", "--headless", "--json")

    assert ended.code == 0, ended.err
    assert (shell.cwd / "ws/made.txt").exists()
    assert len(list((shell.root / "teams/t1/permissions/resolved").glob("*.json"))) == 1


def test_with_nobody_to_ask_a_plan_is_never_approved(shell: Shell) -> None:
    script = [{"calls": [PLAN]}, {"calls": [WRITE]}, {"say": "Made."}]
    file = write_team(shell, [a_task("a", script, owner="w1")], **TEAM)
    ended = shell.swarm("run", file, "--headless", "--json")

    assert ended.code == 5, ended.err
    assert not (shell.cwd / "ws/made.txt").exists()
    assert status_of(shell, "1")["status"] != "completed"
