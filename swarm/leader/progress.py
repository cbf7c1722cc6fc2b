"""Whether a run can still get further: a pure question about the task graph and who is alive."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from swarm.core.roster import Member
from swarm.core.table import TaskTable


def all_finished(table: TaskTable) -> bool:
    """Whether no task is left to do."""
    counts = table.counts()
    return counts["pending"] == counts["in_progress"] == 0


def can_progress(table: TaskTable, alive: Iterable[Member]) -> bool:
    """Whether a task is being worked on, or one is free for a teammate that is alive.

    When this is false nothing will happen by itself any more: what is left waits for a failed or
    cancelled task, or for a teammate that is not there.
    """
    if table.counts()["in_progress"]:
        return True
    return any(table.lowest_claimable(member.name, member.role) is not None for member in alive)


def why_stuck(
    table: TaskTable, *, budget_spent: bool = False, gone: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return, for each task that is left, one sentence that says what it waits for.

    `gone` says of teammates that ended by a fault why.
    """
    nobody = "the budget is spent" if budget_spent else f"no teammate that may take it is left{_told(gone)}"
    reasons: dict[str, str] = {}
    for task in table.tasks():
        if task.status != "pending":
            continue
        blockers = table.open_blockers(task.id)
        if blockers:
            waits = ", ".join(f"task {b} ({table.get(b).status})" for b in blockers)
            reasons[task.id] = f"not started: waits for {waits}"
        else:
            reasons[task.id] = f"not started: {nobody}"
    return reasons


def _told(gone: Mapping[str, str] | None) -> str:
    """Return who ended why, those together that ended for the same reason."""
    names: dict[str, list[str]] = {}
    for name, why in (gone or {}).items():
        names.setdefault(why, []).append(name)
    said = "; ".join(f"{', '.join(each)} ended: {why}" for why, each in names.items())
    return f" ({said})" if said else ""
