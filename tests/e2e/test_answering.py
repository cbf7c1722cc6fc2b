"""A person answers the questions of a run from another shell."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from swarm.testing.wait import wait_until
from tests.e2e.steps import a_task, status_of, write_team
from tests.support.command import Shell

pytestmark = pytest.mark.timeout(120)
_PATIENCE = 60.0

SCRIPT = [
    {"calls": [{"Bash": {"command": "echo a >> ran"}}]},
    {"calls": [{"Write": {"file_path": "new.txt", "content": "one\n"}}], "expect": "error"},
    {"calls": [{"Bash": {"command": "echo b >> ran"}}]},
    {"say": "Done."},
]


@pytest.fixture
def run(shell: Shell) -> Iterator[subprocess.Popen[str]]:
    """A run without a terminal, whose only task has three calls that need a person."""
    file = write_team(shell, [a_task("a", SCRIPT)], permissions={"mode": "default"})
    started = shell.start("run", file, "--backend", "process", "--json")
    yield started
    started.kill()
    started.communicate()


def open_question(shell: Shell, number: int) -> dict[str, Any]:
    def asked() -> Any:
        ran = shell.swarm("permissions", "--json")
        pending = json.loads(ran.out)["pending"] if ran.code == 0 else []
        return next((one for one in pending if one["number"] == number), None)

    found: dict[str, Any] = wait_until(asked, _PATIENCE, what=f"question {number} is open")
    return found


def test_each_call_waits_for_its_answer_and_gets_it(shell: Shell, run: subprocess.Popen[str]) -> None:
    first = open_question(shell, 1)
    assert (first["tool"], first["input"]["command"], first["asker"]) == ("Bash", "echo a >> ran", "alive")
    assert not (shell.cwd / "ws/ran").exists()
    assert shell.swarm("approve", "1").out == "#1 allowed\n"

    second = open_question(shell, 2)
    assert (shell.cwd / "ws/ran").read_text() == "a\n"
    assert "  │ 1 + one" in shell.swarm("permissions", "2").out.splitlines()
    assert shell.swarm("deny", second["id"], "--note", "not that file").code == 0

    open_question(shell, 3)
    assert not (shell.cwd / "ws/new.txt").exists()
    assert shell.swarm("approve", "3", "--note", "the last one").code == 0

    out, err = run.communicate(timeout=_PATIENCE)
    result = json.loads(out)
    assert status_of(shell, "1")["status"] == "completed", err
    assert (shell.cwd / "ws/ran").read_text() == "a\nb\n"
    assert not (shell.cwd / "ws/new.txt").exists()
    assert [one["tool"] for one in result["denied"]] == ["Write"]
    assert shell.swarm("approve", "2").code == 4
    transcript = (shell.root / "teams/t1/transcripts/w1.jsonl").read_text(encoding="utf-8")
    assert "not that file" in transcript
    assert "the last one" in transcript
