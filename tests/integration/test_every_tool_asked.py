"""Every kind of tool that can be asked about, wherever its agent runs: allowed, denied, never answered."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from swarm.core.permission import PermissionRequest, render_request
from swarm.leader.questions import answer
from swarm.testing.wait import wait_until
from tests.e2e.steps import a_task, write_team
from tests.support.asked import answers_of, led, team_of, until_asked
from tests.support.command import Shell

pytestmark = pytest.mark.timeout(120)

NOTE = "not on my machine"
PLAN = {"ExitPlanMode": {"plan": "# Plan\n\n1. Write planned.txt."}}
PLANNED = {"Write": {"file_path": "planned.txt", "content": "planned\n"}}
CALLS: list[dict[str, Any]] = [
    {"Bash": {"command": "echo ran >> ran.txt", "description": "Run it"}},
    {"Write": {"file_path": "new.txt", "content": "new\n"}},
    {"Edit": {"file_path": "old.txt", "old_string": "a", "new_string": "b"}},
    {"Write": {"file_path": "../outside/new.txt", "content": "new\n"}},
    {"Read": {"file_path": "../outside/secret.txt"}},
    {"Grep": {"pattern": "hid", "path": "../outside", "output_mode": "content"}},
    {"Glob": {"pattern": "*.txt", "path": "../outside"}},
    {"TaskUpdate": {"taskId": "1", "metadata": {"seen": "yes"}}},
    {"TaskCreate": {"subject": "One more"}},
    {"TaskList": {}},
    {"SendMessage": {"to": "w2", "message": "hello", "summary": "a word"}},
]
ASKED = ["TaskUpdate", "TaskCreate", "TaskList", "SendMessage"]


@pytest.fixture
def shell(isolated_home: Path, tmp_path: Path) -> Shell:
    made = Shell(isolated_home, tmp_path)
    for name, text in (("ws/old.txt", "a\n"), ("outside/secret.txt", "hidden\n")):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text)
    return made


def written(shell: Shell, *, denied: bool) -> str:
    """Write a team file: w1 makes all the calls, one after another, w2 hands in a plan and goes by it."""
    expect = {"expect": "error"} if denied else {}
    turns = [{"calls": [one]} | expect for one in CALLS]
    done = {"say": "Done."}
    return write_team(
        shell,
        [
            a_task("a", [{"calls": [{"Read": {"file_path": "old.txt"}}]}, *turns, done], owner="w1"),
            a_task("b", [{"calls": [PLAN]} | expect, {"calls": [PLANNED]} | expect, done], owner="w2"),
        ],
        permissions={"mode": "default", "ask": ASKED, "allow": ["Edit(planned.txt)"]},
        teammates=[{"name": "w1"}, {"name": "w2", "permission_mode": "plan"}],
    )


def tree(shell: Shell) -> dict[str, str]:
    """Return every file that a call could have made or changed."""
    folders = (shell.cwd / "ws", shell.cwd / "outside")
    return {
        str(file.relative_to(shell.cwd)): file.read_text()
        for folder in folders
        for file in folder.rglob("*")
        if file.is_file()
    }


def records(shell: Shell) -> dict[str, Any]:
    """Return what the team's own tools could have changed."""
    team = team_of(shell)
    first, *others = team.tasks("user").list_tasks()
    inbox = team.inbox("w2")
    said = [one.text for one in (*inbox.history(), *inbox.peek())]
    return {
        "seen": first.metadata.get("seen"),
        "subjects": [task.subject for task in others],
        "said": said.count("hello"),
    }


def results(shell: Shell, name: str) -> list[dict[str, Any]]:
    lines = (shell.root / f"teams/t1/transcripts/{name}.jsonl").read_text().splitlines()
    return [line["block"] for line in map(json.loads, lines) if line["type"] == "result"]


def answer_all(shell: Shell, outcome: str, before: dict[str, str]) -> list[PermissionRequest]:
    """Answer each question as it comes, or end its time; see that until then nothing of it has run."""
    seen: list[PermissionRequest] = []

    def new_ones() -> list[PermissionRequest]:
        return [one for one in until_asked(shell) if one.id not in {known.id for known in seen}]

    while len(seen) < len(CALLS) + 1:
        request = wait_until(new_ones, timeout=30, what="the next question")[0]
        if outcome != "allow":
            assert tree(shell) == before
        seen.append(request)
        if outcome == "expired":
            end_its_time(shell, request)
        else:
            answer(team_of(shell), request.id, "allow" if outcome == "allow" else "deny", note=NOTE)
    return seen


def end_its_time(shell: Shell, request: PermissionRequest) -> None:
    """Put the end of its time into the past: ten minutes are too long for a test."""
    path = Path(team_of(shell).layout.pending_dir, f"{request.id}.json")
    draft = path.with_suffix(".tmp")
    draft.write_text(json.dumps(render_request(request.replace(deadline_at=request.created_at))))
    draft.rename(path)


def test_what_is_allowed_runs_once_and_as_it_was_asked(shell: Shell, backend: dict[str, Any]) -> None:
    process, _ = led(shell, "run", written(shell, denied=False), "--json", **backend)
    requests = answer_all(shell, "allow", tree(shell))
    wait_until(lambda: "One more" in records(shell)["subjects"], timeout=30)
    process.communicate(timeout=60)

    assert [{one.tool: one.input} for one in requests if one.agent == "w1"] == CALLS
    assert [{one.tool: one.input} for one in requests if one.agent == "w2"] == [PLAN]
    assert tree(shell) == {
        "outside/new.txt": "new\n",
        "outside/secret.txt": "hidden\n",
        "ws/new.txt": "new\n",
        "ws/old.txt": "b\n",
        "ws/planned.txt": "planned\n",
        "ws/ran.txt": "ran\n",
    }
    made = records(shell)
    assert (made["seen"], made["subjects"].count("One more"), made["said"]) == ("yes", 1, 1)
    told = results(shell, "w1")
    assert [one["is_error"] for one in told] == [False] * (len(CALLS) + 1)
    assert [("hidden" in one["content"]) for one in told[5:7]] == [True, True]
    assert {(one.outcome, one.by) for one in answers_of(shell)} == {("allow", "user")}


def test_what_is_denied_leaves_all_as_it_was_and_says_why(shell: Shell, backend: dict[str, Any]) -> None:
    process, _ = led(shell, "run", written(shell, denied=True), "--json", **backend)
    wait_until(lambda: until_asked(shell), timeout=30)
    before, records_before = tree(shell), records(shell)
    answer_all(shell, "deny", before)
    process.communicate(timeout=60)

    assert process.returncode == 0
    assert tree(shell) == before
    assert records(shell) == records_before
    check_refused(shell, f"denied it: {NOTE}", f"[Plan Rejected] {NOTE}")


def test_what_nobody_answers_expires_and_the_work_goes_on(shell: Shell, backend: dict[str, Any]) -> None:
    process, _ = led(shell, "run", written(shell, denied=True), "--json", **backend)
    wait_until(lambda: until_asked(shell), timeout=30)
    before, records_before = tree(shell), records(shell)
    answer_all(shell, "expired", before)
    process.communicate(timeout=60)

    assert process.returncode == 0
    assert tree(shell) == before
    assert records(shell) == records_before
    assert {(one.outcome, one.by) for one in answers_of(shell)} == {("expired", "runtime")}
    check_refused(shell, "nobody answered in time", "nobody answered in time")


def check_refused(shell: Shell, why: str, why_plan: str) -> None:
    """Hold each model to have been told why, and the work to have gone on to its end."""
    _, *told = results(shell, "w1")
    assert [(one["is_error"], why in one["content"]) for one in told] == [(True, True)] * len(CALLS)
    plan, write = results(shell, "w2")
    assert (plan["is_error"], why_plan in plan["content"]) == (True, True)
    assert (write["is_error"], "mode plan" in write["content"]) == (True, True)
    assert {task.status for task in team_of(shell).tasks("user").list_tasks()} == {"completed"}
