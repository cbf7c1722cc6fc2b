"""What a person reads when a run is over."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Iterator

from swarm.cli.columns import table
from swarm.cli.render import printable
from swarm.cli.session import Io
from swarm.core.task import Task, verified
from swarm.leader.denied import describe_answer, refused
from swarm.leader.outcome import RunResult
from swarm.leader.report import describe_spending
from swarm.storage.team import Team

_WORDS = {
    "completed": "All tasks are completed",
    "tasks_failed": "Some tasks did not get done",
    "denied": "Some tasks did not get done: calls that they needed were denied",
    "budget_spent": "The budget is spent",
    "timed_out": "The time limit came first",
    "interrupted": "Interrupted",
}
_GIVEN_BACK = "given back as its teammate was stopped"


def print_closing(team: Team, result: RunResult, io: Io) -> None:
    """Print how the run ended, each task in one line, and what a person can do next."""
    io.print(f"{_said(result)} ({result.elapsed_seconds:.1f} s).")
    for line in table([_row(task) for task in result.tasks], limit=io.columns, flexible=2):
        io.print(line)
    for line in _reasons(result):
        io.print_line(printable(line))
    if result.spending.limit is not None or result.spending.tasks:
        io.print(f"cost     {describe_spending(result.spending)}     (more: swarm -t {team.name} cost)")
    swarm = _command()
    io.print(f"report   {printable(result.report)}")
    io.print(f"look at  {swarm} -t {team.name} task list     (or: status, logs NAME, events)")
    workspace = printable(shlex.quote(team.roster.load().workspace or "."))
    if any(task.result is not None and task.result.commit for task in result.tasks):
        io.print_line(f"commits  git -C {workspace} log     (back to the start: {swarm} -t {team.name} undo)")
    if result.outcome != "completed":
        failed = [task.id for task in result.tasks if task.status in ("failed", "cancelled")]
        if failed:
            io.print(f"retry    {swarm} -t {team.name} task retry {failed[0]}     (else it stays as it is)")
        more = " --budget USD" if result.outcome == "budget_spent" else ""
        io.print(f"go on    {swarm} resume {team.name}{more}")


def _reasons(result: RunResult) -> Iterator[str]:
    """Yield why tasks did not get done, who ended early, and what was denied."""
    left = [task for task in result.tasks if task.status != "completed" and task.reason]
    for task in left:
        reason = _GIVEN_BACK if (task.status, task.reason) == ("pending", "stopped") else task.reason
        yield f"task {task.id}: {reason}"
    for name, why in result.gone.items():
        if not any(why in str(task.reason) for task in left):
            yield f"{name} ended early: {why}"
    for answer in refused(result.questions):
        yield describe_answer(answer)


def _said(result: RunResult) -> str:
    statuses = {task.status for task in result.tasks}
    if result.outcome == "tasks_failed" and not statuses & {"failed", "cancelled"}:
        return "No task failed, but some did not get done: no teammate is left to do them"
    return _WORDS[result.outcome]


def _row(task: Task) -> tuple[str, ...]:
    checked = ""
    if task.status == "completed":
        checked = "verified" if verified(task) else "unverified"
    commit = task.result.commit if task.result is not None else None
    status = task.status.replace("_", " ")
    return task.id, status, task.subject, task.owner or "", checked, commit or ""


def _command() -> str:
    """Return how this program can be called from the person's shell."""
    called = sys.argv[0]
    if os.path.basename(called) == "__main__.py":
        return f"{shlex.quote(sys.executable)} -m swarm"
    found = shutil.which(os.path.basename(called))
    if found is not None and os.path.realpath(found) == os.path.realpath(called):
        return os.path.basename(called)
    return shlex.quote(called)
