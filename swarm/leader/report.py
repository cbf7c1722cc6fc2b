"""`report.md`: what the team did, for a person; good enough to start a pull request from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from swarm.core.money import shown_usd
from swarm.core.task import Task, verified
from swarm.leader.denied import describe_denied
from swarm.leader.outcome import RunResult, Spending
from swarm.storage.files import encode, write_bytes
from swarm.storage.team import Team
from swarm.workspace.git import GitWorkspace

_SENTENCES = {
    "completed": "Every task is completed.",
    "tasks_failed": "Some tasks did not get done.",
    "denied": "Some tasks did not get done, because calls that they needed were denied.",
    "budget_spent": "The budget was spent before all tasks were done.",
    "timed_out": "The time limit came before all tasks were done.",
    "interrupted": "The run was interrupted.",
}


def write_report(team: Team, result: RunResult) -> None:
    """Write the report into the team's folder, over an older one."""
    roster = team.roster.load()
    workspace = roster.workspace or "."
    repository = GitWorkspace(workspace)
    diffstats: dict[str, str] = {}
    loose: tuple[str, ...] = ()
    if repository.is_repository():
        loose = repository.dirty_paths()
        for task in result.tasks:
            if task.result is not None and task.result.commit is not None:
                diffstats[task.id] = repository.diffstat(task.result.commit)
    text = render_report(result, roster.description or "", workspace, diffstats, loose)
    write_bytes(team.layout.report, encode(text))


def render_report(
    result: RunResult,
    description: str,
    workspace: str,
    diffstats: Mapping[str, str],
    loose: tuple[str, ...],
) -> str:
    """Return the report as Markdown. `loose` are changed files in the workspace that no task committed."""
    lines = [f"# {result.team}: {result.outcome.replace('_', ' ')}", ""]
    if description:
        lines += [description, ""]
    lines += [_SENTENCES[result.outcome], ""]
    lines += [
        f"- workspace: `{workspace}`",
        f"- run `{result.run}`, backend {result.backend}, {result.elapsed_seconds:.1f} s",
        f"- tokens: {result.input_tokens} in, {result.output_tokens} out",
        f"- cost: {describe_spending(result.spending)}",
        "",
        *_table(result.tasks),
    ]
    for task in result.tasks:
        lines += ["", *_section(task, diffstats.get(task.id, ""), result.spending)]
    lines += [*_denied(result.denied), *_loose(loose)]
    return "\n".join(lines) + "\n"


def describe_spending(spending: Spending) -> str:
    """Return what was spent, of how much, and what may come to it."""
    text = shown_usd(spending.micros)
    if spending.limit is not None:
        text += f" of {shown_usd(spending.limit)}"
    if spending.reserved:
        text += f"; up to {shown_usd(spending.reserved)} more for calls whose end nobody saw"
    if spending.unpriced:
        text += f"; without {spending.unpriced} calls of models whose price is not known"
    return text


def _table(tasks: tuple[Task, ...]) -> Iterator[str]:
    yield "| task | subject | status | by | checked | commit |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for task in tasks:
        commit = f"`{task.result.commit}`" if task.result and task.result.commit else ""
        cells = (task.id, task.subject, task.status, task.owner or "", _checked(task), commit)
        yield "| " + " | ".join(_cell(cell) for cell in cells) + " |"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _checked(task: Task) -> str:
    if task.status != "completed":
        return ""
    return "verified" if verified(task) else "**unverified**"


def _section(task: Task, diffstat: str, spending: Spending) -> Iterator[str]:
    yield f"## {task.id} · {_cell(task.subject)}"
    yield ""
    if task.result is not None:
        yield task.result.summary.strip() or "(no summary)"
        if task.result.not_checked:
            yield ""
            yield "Not checked: " + "; ".join(task.result.not_checked)
    if task.reason is not None and task.status != "completed":
        yield f"{task.status}: {task.reason}"
    elif task.result is None and task.reason is None:
        yield f"{task.status}."
    if task.attempts or task.crashes:
        yield ""
        yield f"Attempts that failed: {task.attempts}; deaths of its worker: {task.crashes}."
    if spending.tasks.get(task.id):
        yield ""
        yield f"Cost: {shown_usd(spending.tasks[task.id])}."
    if diffstat:
        yield ""
        yield from ("```", *diffstat.rstrip("\n").split("\n"), "```")


def _denied(denied: tuple[Mapping[str, Any], ...]) -> Iterator[str]:
    if not denied:
        return
    yield ""
    yield "## Denied calls"
    yield ""
    for request in denied:
        told = describe_denied(request).replace("`", "'")
        yield f"- `{told}`"


def _loose(paths: tuple[str, ...]) -> Iterator[str]:
    if not paths:
        return
    yield ""
    yield "## Changed but not committed"
    yield ""
    yield from (f"- `{path}`" for path in paths)
