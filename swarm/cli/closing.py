"""What a person reads when a run is over."""

from __future__ import annotations

import shlex

from swarm.cli.columns import table
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
    for line in table([_row(task) for task in result.tasks], limit=io.columns, flexible=-1):
        io.print(line)
    for request in result.denied:
        rule = request.get("suggested_rule")
        hint = f"; this rule would allow it: {rule}" if rule else ""
        io.print(printable(f"  denied to {request.get('agent')}: {request.get('why')}{hint}"))
    io.print(f"report   {printable(result.report)}")
    io.print(f"look at  swarm -t {team.name} status   swarm -t {team.name} task list")
    if any(task.result is not None and task.result.commit for task in result.tasks):
        workspace = shlex.quote(team.roster.load().workspace or ".")
        io.print(f"commits  git -C {printable(workspace)} log")


def _row(task: Task) -> tuple[str, ...]:
    checked = ""
    if task.status == "completed":
        checked = "verified" if verified(task) else "unverified"
    commit = task.result.commit if task.result is not None else None
    reason = task.reason if task.status != "completed" else None
    status = task.status.replace("_", " ")
    return task.id, status, task.subject, task.owner or "", checked, commit or "", reason or ""
