"""Tasks as a person reads them: a list, and a page for one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from swarm.cli.board import Shown, style, symbol
from swarm.cli.columns import align
from swarm.cli.render import local_time, paint, printable, printable_lines
from swarm.cli.session import Io
from swarm.core.task import Task, verified

_SUBJECT = 3
_LABEL_CELLS = 12
_VALUE_CELLS = 2 + _LABEL_CELLS


def print_list(tasks: Sequence[Shown], io: Io, team: str) -> None:
    """Print one line per task; subjects are clipped to the width of a terminal, never in a pipe."""
    if not tasks:
        io.note(f"no such tasks in team {team}")
        return
    for shown, cells in zip(tasks, align(_rows(tasks, io), limit=io.columns, flexible=_SUBJECT), strict=True):
        number, sign, state, *others = cells
        colored = paint(f"{sign} {state}", style(shown.state), enabled=io.color)
        io.print("  ".join([number, colored, *others]).rstrip())


def _rows(tasks: Sequence[Shown], io: Io) -> list[tuple[str, ...]]:
    return [
        (
            shown.task.id,
            symbol(shown.state, unicode=io.unicode),
            shown.state,
            shown.task.subject,
            shown.owner,
            shown.remark,
        )
        for shown in tasks
    ]


def print_page(shown: Shown, io: Io) -> None:
    """Print one task with everything that is known of it."""
    task = shown.task
    io.print_line(f"{task.id}  {printable(task.subject)}", "bold")
    io.print()
    sign = symbol(shown.state, unicode=io.unicode)
    said = f"{sign} {shown.state}"
    remark = f" ({printable(shown.remark)})" if shown.remark else ""
    status = f"  {'status'.ljust(_LABEL_CELLS)}{said}{remark}"
    io.print_line(status, style(shown.state), label=said, indent=_VALUE_CELLS)
    for label, value in _facts(shown):
        io.print_line(f"  {label.ljust(_LABEL_CELLS)}{printable(value)}", indent=_VALUE_CELLS)
    for title, text in (
        ("description", task.description),
        ("result", task.result.summary if task.result else ""),
    ):
        if text:
            io.print(f"\n  {title}")
            for line in printable_lines(text).split("\n"):
                io.print_line(f"    {line}".rstrip())


def _facts(shown: Shown) -> Iterator[tuple[str, str]]:
    task = shown.task
    links = {"owner": shown.owner, "waits for": ", ".join(task.blocked_by), "blocks": ", ".join(task.blocks)}
    yield from ((label, value) for label, value in links.items() if value)
    yield from (("files", pattern) for pattern in task.files)
    yield from (("verify", command) for command in task.verify)
    if task.attempts or task.crashes:
        yield "attempts", f"{task.attempts} failed, {task.crashes} ended by a crash"
    if task.claim:
        yield "claimed", f"{local_time(task.claim.at)} (token {task.claim.token})"
    yield from _outcome(task)
    if task.created_at:
        yield "created", f"{local_time(task.created_at)} by {task.created_by}"


def _outcome(task: Task) -> Iterator[tuple[str, str]]:
    if task.status == "pending" and task.reason:
        yield "given back", task.reason
    if task.result is None:
        return
    yield "verified", "yes" if verified(task) else "no"
    yield from (("changed", path) for path in task.result.files)
    yield from (("kept", path) for path in task.result.artifacts)
    yield from (("not checked", what) for what in task.result.not_checked if what != "verify")
    if task.result.commit:
        yield "commit", task.result.commit
