"""Questions of teammates in a running team, and the answers of people who sit elsewhere."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from swarm.core.permission import PermissionRequest, Resolution
from swarm.leader.questions import open_questions
from swarm.settings import Settings
from swarm.storage.clock import SystemClock
from swarm.storage.team import Team, open_team
from swarm.testing.wait import wait_until
from tests.support.command import Shell


def team_of(shell: Shell, name: str = "t1") -> Team:
    return open_team(str(shell.root), name, Settings(), SystemClock())


def until_asked(shell: Shell, count: int = 1, timeout: float = 30) -> list[PermissionRequest]:
    """Wait until so many questions are open, and return them by their number."""

    def found() -> list[PermissionRequest]:
        if not (shell.root / "teams/t1/config.json").exists():
            return []
        requests = [question.request for question in open_questions(team_of(shell))]
        return sorted(requests, key=lambda request: request.number or 0)

    def enough() -> list[PermissionRequest]:
        requests = found()
        return requests if len(requests) >= count else []

    return wait_until(enough, timeout=timeout, what=f"{count} open questions")


def answers_of(shell: Shell) -> list[Resolution]:
    return list(team_of(shell).permissions.list_resolved())


def answering(shell: Shell, ref: str, outcome: str, note: str = "") -> subprocess.Popen[str]:
    """Start the command of a person who answers; `heard` tells what came of it."""
    verb = "approve" if outcome == "allow" else "deny"
    return shell.start(verb, ref, *(("--note", note) if note else ()), "--json")


def heard(process: subprocess.Popen[str]) -> dict[str, Any]:
    """Return the outcome, or the error with its exit code, of one who answered."""
    out, err = process.communicate(timeout=60)
    if process.returncode == 0:
        (result,) = json.loads(out)["results"]
        return {"outcome": result["outcome"]}
    error: dict[str, Any] = json.loads(err)["error"]
    return {"code": error["code"], "exit": process.returncode, "message": error["message"]}


class Screen:
    """What a leader has written on its stderr so far, in a file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def text(self) -> str:
        return self._path.read_text(encoding="utf-8", errors="replace")


def led(shell: Shell, *words: str, **environ: str) -> tuple[subprocess.Popen[str], Screen]:
    """Start `swarm` with these words; its stderr goes to a file that can be read meanwhile."""
    path = shell.cwd / f"screen-{len(shell.started)}.txt"
    with path.open("w") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "swarm", *words],
            cwd=shell.cwd,
            env=shell.environ(**environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=file,
            text=True,
        )
    shell.started.append(process)
    return process, Screen(path)
