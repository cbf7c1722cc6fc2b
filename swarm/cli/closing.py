"""What a person reads when a run is over."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Collection, Iterator, Sequence

from swarm.cli.columns import table
from swarm.cli.folding import folded_command
from swarm.cli.render import printable
from swarm.cli.session import Io
from swarm.core.breaking import hanging, width
from swarm.core.task import Task, name_tasks, verified
from swarm.core.transcript import not_permitted
from swarm.leader.denied import describe_answer, to_tell
from swarm.leader.going_on import GoingOn, going_on
from swarm.leader.inheritance import mode_of_leader
from swarm.leader.outcome import RunResult
from swarm.leader.report import describe_spending
from swarm.leader.uncommitted import describe_loose
from swarm.permissions.modes import NEVER_ASKS
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
_LABEL_CELLS = 9


def print_closing(team: Team, result: RunResult, io: Io) -> None:
    """Print how the run ended, each task in one line, and what a person can do next."""
    screen, swarm = _Screen(io), _command()
    screen.tell(f"{_said(result)} ({result.elapsed_seconds:.1f} s).")
    for line in table([_row(task, result.undone) for task in result.tasks], limit=io.columns, flexible=2):
        io.print(line)
    for line in _reasons(result):
        screen.tell(line)
    if result.loose:
        screen.tell(f"{describe_loose(result.loose)} (git status)")
    if result.spending.limit is not None or result.spending.tasks:
        screen.point("cost", [describe_spending(result.spending)], f"more: swarm -t {team.name} cost")
    screen.point("report", [result.report])
    screen.point("look at", [swarm, "-t", team.name, "task list"], "or: status, logs NAME, events")
    workspace = shlex.quote(team.roster.load().workspace or ".")
    commits = {task.result.commit for task in result.tasks if task.result is not None and task.result.commit}
    if commits - result.undone:
        undo = f"back to the start: {swarm} -t {team.name} undo"
        screen.point("commits", ["git", "-C", workspace, "log"], undo)
    rest = going_on(result)
    if rest is not None:
        screen.point("go on", rest.words(swarm), _what_it_does(rest, mode_of_leader(team.roster.load())))


class _Screen:
    """Prints lines that fit the terminal; a command in several of them still is one to a shell."""

    def __init__(self, io: Io) -> None:
        self._io = io

    def tell(self, text: str) -> None:
        self._io.print_line(printable(text), indent=2)

    def point(self, label: str, words: Sequence[str], aside: str = "") -> None:
        """Print the words, of which none is broken, and an aside beside them or, without room, below."""
        columns, indent = self._io.columns, " " * _LABEL_CELLS
        lines = folded_command([printable(word) for word in words], columns, _LABEL_CELLS)
        if aside:
            together = f"{lines[-1]}     ({printable(aside)})"
            if columns is None or width(together) <= columns - _LABEL_CELLS:
                lines[-1] = together
            else:
                lines += hanging(f"({printable(aside)})", columns - _LABEL_CELLS, 0)
        for number, line in enumerate(lines):
            self._io.print(f"{label.ljust(_LABEL_CELLS) if number == 0 else indent}{line}")


def _reasons(result: RunResult) -> Iterator[str]:
    """Yield why tasks did not get done, who ended early, and what was denied; no denial is told twice."""
    done = {task.id for task in result.tasks if task.status == "completed"}
    denials = to_tell(result.questions, done, result.began)
    told = {
        (str(request.get("task")), str(request.get("tool"))) for one in denials if (request := one.request)
    }
    left = [task for task in result.tasks if task.status != "completed" and task.reason]
    for task in left:
        if any(task.id == of and not_permitted(tool) in str(task.reason) for of, tool in told):
            continue
        reason = _GIVEN_BACK if (task.status, task.reason) == ("pending", "stopped") else task.reason
        yield f"task {task.id}: {reason}"
    for name, why in result.gone.items():
        if not any(why in str(task.reason) for task in left):
            yield f"{name} ended early: {why}"
    yield from map(describe_answer, denials)


def _what_it_does(rest: GoingOn, mode: str | None) -> str:
    if rest.rules:
        return "" if mode == NEVER_ASKS else "without --allow you are asked"
    if rest.asks_again:
        return "what was not allowed is asked for again"
    if rest.retried:
        stays = "stays as it is" if len(rest.retried) == 1 else "stay as they are"
        return f"without the retry {name_tasks(rest.retried)} {stays}"
    return ""


def _said(result: RunResult) -> str:
    statuses = {task.status for task in result.tasks}
    if result.outcome == "tasks_failed" and not statuses & {"failed", "cancelled"}:
        return "No task failed, but some did not get done: no teammate is left to do them"
    if result.undone:
        return f"{_WORDS[result.outcome]}, but {_undone(result)}"
    return _WORDS[result.outcome]


def _undone(result: RunResult) -> str:
    tasks = [task.id for task in result.tasks if task.result and task.result.commit in result.undone]
    gone = "the commit" if len(tasks) == 1 else "the commits"
    return f"{gone} of {name_tasks(tasks)} {'is' if len(tasks) == 1 else 'are'} not on the branch any more"


def _row(task: Task, undone: Collection[str]) -> tuple[str, ...]:
    checked = ""
    if task.status == "completed":
        checked = "verified" if verified(task) else "unverified"
    commit = task.result.commit if task.result is not None else None
    status = task.status.replace("_", " ")
    return (
        task.id,
        status,
        task.subject,
        task.owner or "",
        checked,
        "undone" if commit in undone else commit or "",
    )


def _command() -> str:
    """Return how this program can be called from the person's shell."""
    called = sys.argv[0]
    if os.path.basename(called) == "__main__.py":
        return f"{shlex.quote(sys.executable)} -m swarm"
    found = shutil.which(os.path.basename(called))
    if found is not None and os.path.realpath(found) == os.path.realpath(called):
        return os.path.basename(called)
    return shlex.quote(called)
