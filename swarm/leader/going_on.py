"""What a person can do to get the rest of a run done: one command, with the rules that were lacking."""

from __future__ import annotations

import shlex
from collections.abc import Callable

from swarm.core.shown import printable
from swarm.leader.denied import is_settled, refused
from swarm.leader.outcome import RunResult
from swarm.values import Value


class GoingOn(Value):
    """How a run is taken up: `retried` tasks begin again, `rules` are added, all the rest goes on.

    `asks_again`: something was denied, or not answered in time, that would be asked for again.
    """

    team: str
    retried: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    asks_again: bool = False
    needs_budget: bool = False

    def words(self, swarm: str = "swarm") -> list[str]:
        """Return the words of the command for a shell; an option and its value are one word here."""
        begun = [swarm, "-t", self.team, "task", "retry", *self.retried, "&&"] if self.retried else []
        rules = [f"--allow {shlex.quote(rule)}" for rule in self.rules]
        budget = ["--budget USD"] if self.needs_budget else []
        return [*begun, swarm, "resume", self.team, *rules, *budget]


def going_on(result: RunResult, may_show: Callable[[str], bool] = lambda _: True) -> GoingOn | None:
    """Return what gets undone tasks done; None where there are none.

    A rule that cannot be shown as it is, or that nobody `may_show`, is not part of it.
    """
    if result.outcome == "completed":
        return None
    statuses = {task.id: task.status for task in result.tasks}
    failed = tuple(task for task, status in statuses.items() if status == "failed")
    cancelled = tuple(task for task, status in statuses.items() if status == "cancelled")
    rules: dict[str, None] = {}
    asks_again = False
    for answer in refused(result.questions):
        request = answer.request or {}
        if statuses.get(str(request.get("task"))) in (None, "completed"):
            continue
        rule = str(request.get("suggested_rule") or "")
        if answer.outcome == "deny" and not is_settled(answer) and rule:
            if printable(rule) == rule and may_show(rule):
                rules[rule] = None
        else:
            asks_again = asks_again or answer.via != "rule"
    return GoingOn(
        team=result.team,
        retried=failed or cancelled,
        rules=tuple(rules),
        asks_again=asks_again,
        needs_budget=result.outcome == "budget_spent",
    )
