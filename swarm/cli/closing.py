"""What a person reads when a run is over."""

from __future__ import annotations

import shlex

from swarm.cli.render import printable
from swarm.cli.session import Io
from swarm.core.task import Task, verified
from swarm.leader.outcome import RunResult
from swarm.storage.team import Team

_WORDS = {
    "completed": "All tasks are completed",
    "tasks_failed": "Some tasks did not get done",
    "denied": "Some tasks did not get done: calls that they needed were denied",
    "budget_spent": "The budget is spent",
    "timed_out": "The time limit came first",
    "interrupted": "Interrupted",
}


def print_closing(team: Team, result: RunResult, io: Io) -> None:
    """Print how the run ended, each task in one line, and where to look next."""
    io.print(f"{_WORDS[result.outcome]} ({result.elapsed_seconds:.1f} s).")
    for task in result.tasks:
        io.print(f"  {_line(task)}")
    for request in result.denied:
        rule = request.get("suggested_rule")
        hint = f"; this rule would allow it: {rule}" if rule else ""
        io.print(f"  denied to {request.get('agent')}: {printable(str(request.get('why')))}{printable(hint)}")
    io.print(f"report   {result.report}")
    io.print(f"look at  swarm -t {team.name} status   swarm -t {team.name} task list")
    if any(task.result is not None and task.result.commit for task in result.tasks):
        workspace = shlex.quote(team.roster.load().workspace or ".")
        io.print(f"commits  git -C {workspace} log")


def _line(task: Task) -> str:
    parts = [f"{task.id}  {task.status:<11}", printable(task.subject)]
    if task.owner:
        parts.append(f"({printable(task.owner)})")
    if task.status == "completed":
        parts.append("verified" if verified(task) else "unverified")
        if task.result is not None and task.result.commit:
            parts.append(task.result.commit)
    elif task.reason:
        parts.append(f"- {printable(task.reason)}")
    return "  ".join(parts)
