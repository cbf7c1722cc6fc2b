"""Tasks, calls and hooks for sessions of one teammate."""

from __future__ import annotations

import asyncio

from tests.support.live_team import LiveTeam
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
