"""The verify commands of a task that is completed at the command line."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from swarm.cli.render import printable_lines
from swarm.cli.session import Io
from swarm.core.task import Task
from swarm.errors import TaskError
from swarm.storage.team import Team
from swarm.workspace.commands import run_shell
from swarm.workspace.environment import child_environment


def run_verify(team: Team, task: Task, name: str, io: Io) -> None:
    """Run each command in the team's workspace; the first that fails is a `TaskError` (task_failed).

    The end of its output goes to stderr. The claim is left as it is, so that its holder can go on.
    """
    workspace = team.roster.load().workspace or os.getcwd()
    run_id = task.claim.run_id if task.claim else ""
    environment = child_environment(
        io.environ, root=team.root, team=team.name, agent=name, run_id=run_id, task=task.id
    )
    for command in task.verify:
        io.note(f"verify: {printable_lines(command)}")
        _run(team, task, command, workspace, environment, io)


def _run(team: Team, task: Task, command: str, workspace: str, environment: dict[str, str], io: Io) -> None:
    limits = team.settings
    owner, run_id = task.owner or "", task.claim.run_id if task.claim else None
    with _all_ends_like_ctrl_c():
        result = asyncio.run(
            run_shell(
                command, workspace, environment, limits.verify_timeout_seconds, limits.verify_output_chars
            )
        )
    if result.exit_code == 0 and not result.error:
        team.events.emit("verify_passed", owner, run_id=run_id, task=task.id, command=command)
        return
    facts: dict[str, Any] = {"command": command, "exit_code": result.exit_code}
    team.events.emit("verify_failed", owner, run_id=run_id, task=task.id, **facts)
    if result.output and not io.json:
        io.err.write(printable_lines(result.output).rstrip("\n") + "\n")
    why = result.error or f"exit code {result.exit_code}"
    raise TaskError(
        f"task {task.id} is not completed: {command} failed ({why}); mend it, or complete with --unverified",
        code="task_failed",
        details={"task": task.id, "output": result.output, **facts},
    )


@contextmanager
def _all_ends_like_ctrl_c() -> Iterator[None]:
    """Let the command be ended before this process goes, whatever asks it to; what is ignored stays so."""
    kept = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    for number, handler in kept.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)
