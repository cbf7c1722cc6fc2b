"""Tasks, calls and hooks for sessions of one teammate."""

from __future__ import annotations

import asyncio

from swarm.core.permission import PermissionRequest
from swarm.leader.questions import open_questions
from tests.support.live_team import LiveTeam
from worker.claim import Outcome
from worker.messages import tool_use

TEAMMATES = [{"name": "w1"}]
WAITS_FOR_GO = "touch began; while [ ! -e go ]; do sleep 0.05; done"
LONG = "sleep 60 & echo $! > pid.tmp; mv pid.tmp pid; wait"


def write(path: str, content: str) -> dict:
    return {"Write": {"file_path": path, "content": content}}


def bash(command: str) -> dict:
    return {"Bash": {"command": command}}


def a_task(*turns: dict, **facts) -> dict:
    return {"key": "job", "subject": "Do the job", "script": list(turns)} | facts


def call(name: str, tool_use_id: str = "t1", **given) -> dict:
    return tool_use(tool_use_id, name, given)


def a_hook(team: LiveTeam, text: str, name: str = "pre-commit") -> None:
    hook = team.workspace / ".git" / "hooks" / name
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\n{text}\n")
    hook.chmod(0o755)


async def stopped_in_a_command(team: LiveTeam):
    """Begin a session and wait until its command, `LONG`, runs; return its stop, it, and a child's pid."""
    stop = asyncio.Event()
    session = team.begin(team.bench("w1"), stop)
    running = asyncio.create_task(session.run())
    await team.until_file("pid")
    pid = int((team.workspace / "pid").read_text())
    return stop, running, pid


READ_FIRST = {"calls": [{"Read": {"file_path": "old.txt"}}]}


def begun(team: LiveTeam, stop: asyncio.Event | None = None) -> asyncio.Task[Outcome | None]:
    return asyncio.create_task(team.begin(team.bench("w1"), stop).run())


async def asked(team: LiveTeam, count: int = 1) -> list[PermissionRequest]:
    """Wait until so many questions are open, and return them by their number."""
    await team.until(lambda: len(open_questions(team.team)) >= count, f"{count} open questions")
    found = [question.request for question in open_questions(team.team)]
    return sorted(found, key=lambda request: request.number or 0)
