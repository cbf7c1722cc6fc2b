"""How a run ended: one word, one exit code, and the object that `--json` prints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from swarm.core.costs import CostTable
from swarm.core.fields import EMPTY
from swarm.core.money import usd_of
from swarm.core.permission import Resolution
from swarm.core.task import Task, verified
from swarm.values import Value

EXIT_OF_OUTCOME = {
    "completed": 0,
    "denied": 5,
    "tasks_failed": 6,
    "budget_spent": 7,
    "timed_out": 124,
    "interrupted": 130,
}
"""Several can apply: then interrupted > timed_out > budget_spent > denied > tasks_failed."""


class Spending(Value):
    """What the calls of a team have cost so far, in micro-dollars.

    `reserved` is what was set aside for calls whose end nobody saw, `unpriced` how many had no known price.
    """

    micros: int = 0
    reserved: int = 0
    limit: int | None = None
    unpriced: int = 0
    tasks: Mapping[str, int] = EMPTY


def spending_of(table: CostTable) -> Spending:
    tasks = {task: tally.micros for task, tally in table.tasks.items() if task is not None}
    return Spending(
        micros=table.total.micros,
        reserved=table.reserved,
        limit=table.limit,
        unpriced=table.total.unpriced,
        tasks=tasks,
    )


class RunResult(Value):
    """What a finished run tells: enough for `--json`, the report and the closing lines.

    `gone` names teammates whose models could not be asked, each with why; `questions` are all that were
    asked. `began` is when the run was begun or taken up; `loose` are changed files in the workspace that no
    task has committed, `undone` commits of its tasks that are not on the branch any more.
    """

    team: str
    run: str
    outcome: str
    elapsed_seconds: float
    backend: str
    tasks: tuple[Task, ...]
    denied: tuple[Mapping[str, Any], ...]
    input_tokens: int
    output_tokens: int
    report: str
    spending: Spending = Spending()
    gone: Mapping[str, str] = EMPTY
    questions: tuple[Resolution, ...] = ()
    began: str = ""
    loose: tuple[str, ...] = ()
    undone: frozenset[str] = frozenset()

    @property
    def exit_code(self) -> int:
        """Exit code of the command that made this run."""
        return EXIT_OF_OUTCOME[self.outcome]


def decide_outcome(
    tasks: Iterable[Task],
    denied: Iterable[Mapping[str, Any]],
    *,
    interrupted: bool,
    timed_out: bool,
    budget_spent: bool = False,
) -> str:
    """Return the outcome. A denial only counts when the task it was for did not get done all the same."""
    if interrupted:
        return "interrupted"
    unfinished = {task.id for task in tasks if task.status != "completed"}
    if not unfinished:
        return "completed"
    if timed_out:
        return "timed_out"
    if budget_spent:
        return "budget_spent"
    if any(str(request.get("task")) in unfinished for request in denied):
        return "denied"
    return "tasks_failed"


def render_result(result: RunResult) -> dict[str, Any]:
    """Return the object that `run --json` prints."""
    return {
        "team": result.team,
        "run": result.run,
        "outcome": result.outcome,
        "exit_code": result.exit_code,
        "elapsed_seconds": round(result.elapsed_seconds, 1),
        "backend": result.backend,
        "tasks": [_render_task(task, result.spending) for task in result.tasks],
        "denied": [dict(request) for request in result.denied],
        "gone": dict(result.gone),
        "input_tokens": result.input_tokens,
        "output_tokens": result.output_tokens,
        "usd": usd_of(result.spending.micros),
        "report": result.report,
    }


def _render_task(task: Task, spending: Spending) -> dict[str, Any]:
    shown: dict[str, Any] = {"id": task.id}
    if task.key is not None:
        shown["key"] = task.key
    shown |= {"subject": task.subject, "status": task.status}
    if task.owner is not None:
        shown["owner"] = task.owner
    if task.result is not None:
        shown |= {"summary": task.result.summary, "files": list(task.result.files)}
        if task.result.commit is not None:
            shown["commit"] = task.result.commit
    if task.status == "completed":
        shown["verified"] = verified(task)
    if task.reason is not None and task.status != "completed":
        shown["reason"] = task.reason
    return shown | {"attempts": task.attempts, "usd": usd_of(spending.tasks.get(task.id, 0))}
