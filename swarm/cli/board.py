"""Tasks as they are shown: what each waits for, whether it can be had, and in which words.

Made from what the store shows, by the rule by which claims are decided: only completion unblocks.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING, Any

from swarm.cli.render import printable
from swarm.cli.session import Io, actor
from swarm.core.graph import shortest_path
from swarm.core.signs import SIGNS
from swarm.core.task import Task, render_task, verified

if TYPE_CHECKING:
    from swarm.storage.team import Team


class Shown:
    """One task with what follows from the others."""

    def __init__(self, task: Task, status_of: Callable[[str], str | None]) -> None:
        self.task = task
        self.open_blockers = tuple(i for i in task.blocked_by if status_of(i) != "completed")

    @property
    def ready(self) -> bool:
        return self.task.status == "pending" and not self.open_blockers

    @property
    def state(self) -> str:
        """The status in the words of a person, who asks of a pending task whether it can be had."""
        if self.task.status == "pending":
            return "ready" if self.ready else "blocked"
        return self.task.status.replace("_", " ")

    @property
    def owner(self) -> str:
        """Who has it or is to have it; `any builder` where that is a role."""
        if self.task.owner:
            return self.task.owner
        requires = self.task.requires
        if requires is None:
            return ""
        return requires.agent or (f"any {requires.role}" if requires.role else "")

    @property
    def remark(self) -> str:
        """What holds it back, or why it ended as it did."""
        if self.task.status == "pending" and self.open_blockers:
            return f"waits for {', '.join(self.open_blockers)}"
        return self.task.reason or "" if self.task.status in {"failed", "cancelled"} else ""


class Board:
    """All tasks of a team, in the order of their numbers, and what is wrong with files that are none."""

    def __init__(self, tasks: Iterable[Task], problems: tuple[str, ...] = ()) -> None:
        by_id = {task.id: task for task in tasks}

        def status_of(task_id: str) -> str | None:
            return by_id[task_id].status if task_id in by_id else None

        self.tasks = tuple(Shown(task, status_of) for task in by_id.values())
        self.problems = problems

    def counts(self) -> dict[str, int]:
        """Return how many tasks there are of each status; the pending ones also as ready and blocked."""
        statuses = [shown.task.status for shown in self.tasks]
        ready = sum(shown.ready for shown in self.tasks)
        pending = statuses.count("pending")
        ended = {key: statuses.count(key) for key in ("in_progress", "completed", "failed", "cancelled")}
        return {"pending": pending, "ready": ready, "blocked": pending - ready, **ended}

    def stuck(self, without: Collection[str] = ()) -> frozenset[str]:
        """Return the pending tasks that nothing under way can free: a blocker failed, or waits for them.

        Or it is one `without` anybody to do it.
        """
        ready = {s.task.id for s in self.tasks if s.ready and s.task.id not in without}
        going = ready | {s.task.id for s in self.tasks if s.task.status == "in_progress"}
        waiting = [s for s in self.tasks if s.task.status == "pending" and s.task.id not in ready]
        left = [s for s in waiting if s.task.id not in without]
        while freed := [s for s in left if going.issuperset(s.open_blockers)]:
            going.update(s.task.id for s in freed)
            left = [s for s in left if s.task.id not in going]
        return frozenset(s.task.id for s in waiting if s.task.id not in going)

    def find_loop(self) -> tuple[str, ...] | None:
        """Return tasks that wait for each other, which no swarm verb allows, as `(1, 2, 1)`."""
        waits = {shown.task.id: shown.open_blockers for shown in self.tasks if shown.open_blockers}
        for task_id, blockers in waits.items():
            for blocker in blockers:
                path = shortest_path(blocker, task_id, lambda node: waits.get(node, ()))
                if path:
                    return (task_id, *path)
        return None


def the_board(team: Team, io: Io) -> Board:
    """Return the tasks of a team as the files have them; what cannot be used is said on stderr."""
    seen = team.tasks(actor(io)).look()
    for problem in seen.problems:
        io.note(f"Warning: {printable(problem)}")
    return Board(seen.tasks, seen.problems)


def with_problems(shown: dict[str, Any], board: Board) -> dict[str, Any]:
    """Return an object for `--json` with what is wrong with the files, if anything is."""
    return shown | ({"problems": list(board.problems)} if board.problems else {})


def symbol(state: str, *, unicode: bool) -> str:
    fancy, plain, _ = SIGNS[state.replace(" ", "_")]
    return fancy if unicode else plain


def style(state: str) -> str:
    return SIGNS[state.replace(" ", "_")][2]


def list_object(shown: Shown) -> dict[str, Any]:
    """Return the task as `task list --json` has it."""
    task = shown.task
    known = {
        "id": task.id,
        "key": task.key,
        "subject": task.subject,
        "status": task.status,
        "owner": task.owner,
        "reason": task.reason,
    }
    present = {key: value for key, value in known.items() if value is not None}
    waits = {"blockedBy": list(task.blocked_by), "open_blockers": list(shown.open_blockers)}
    return present | waits | {"ready": shown.ready}


def task_object(shown: Shown) -> dict[str, Any]:
    """Return the task as its file has it, and what follows from the others."""
    follows = {"open_blockers": list(shown.open_blockers), "ready": shown.ready}
    return render_task(shown.task) | follows | {"verified": verified(shown.task)}
