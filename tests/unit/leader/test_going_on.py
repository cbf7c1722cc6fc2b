"""The command that gets the rest of a run done."""

from __future__ import annotations

from typing import Any

import pytest

from swarm.core.permission import Resolution
from swarm.core.task import Task
from swarm.leader.denied import to_tell
from swarm.leader.going_on import going_on
from swarm.leader.outcome import RunResult
from swarm.storage.questions import NOBODY_ANSWERED, STOPPED_WAITING

HEADLESS = {"outcome": "deny", "via": "runtime", "by": "runtime", "note": "nobody can be asked"}
BY_PERSON = {"outcome": "deny", "via": "human", "by": "user"}
BY_FILE = {"outcome": "deny", "via": "rule", "by": "team-lead"}
LATE = {"outcome": "expired", "via": "runtime", "by": "runtime", "note": NOBODY_ANSWERED}
STOPPED = {"outcome": "expired", "via": "runtime", "by": "runtime", "note": STOPPED_WAITING}
YES = {"outcome": "allow", "via": "human", "by": "user"}


def an_answer(rule: str | None, task: str = "1", at: str = "2", **facts: Any) -> Resolution:
    request = {"task": task, "agent": "w1", "tool": "Bash", "suggested_rule": rule}
    return Resolution(id=f"{rule}{at}", digest=str(rule), at=at, request=request, **facts)


def a_result(*statuses: str, outcome: str = "denied", questions: tuple[Resolution, ...] = ()) -> RunResult:
    tasks = tuple(Task(id=str(at), subject="", status=status) for at, status in enumerate(statuses, start=1))
    return RunResult(
        team="t1", run="r", outcome=outcome, elapsed_seconds=0.0, backend="in-process", tasks=tasks,
        denied=(), input_tokens=0, output_tokens=0, report="/r", questions=questions,
    )  # fmt: skip


def command(result: RunResult) -> str:
    rest = going_on(result)
    return "" if rest is None else " ".join(rest.words())


@pytest.mark.parametrize(
    ("statuses", "outcome", "told"),
    [
        (("completed",), "completed", ""),
        (("failed", "completed", "failed", "cancelled"), "tasks_failed",
         "swarm -t t1 task retry 1 3 && swarm resume t1"),
        (("cancelled", "pending"), "tasks_failed", "swarm -t t1 task retry 1 && swarm resume t1"),
        (("pending",), "interrupted", "swarm resume t1"),
        (("failed", "pending"), "budget_spent", "swarm -t t1 task retry 1 && swarm resume t1 --budget USD"),
    ],
)  # fmt: skip
def test_it_names_all_that_has_to_be_done_again(statuses: tuple[str, ...], outcome: str, told: str) -> None:
    assert command(a_result(*statuses, outcome=outcome)) == told


def test_it_has_every_rule_that_was_lacking_and_no_other() -> None:
    questions = (
        an_answer("Bash(rm -r leftovers)", **HEADLESS),
        an_answer("Edit(/it's.py)", **HEADLESS),
        an_answer("Bash(rm -r leftovers)", at="3", **HEADLESS),
        an_answer("Bash(done)", task="2", **HEADLESS),
        an_answer("Bash(no)", **BY_PERSON),
        an_answer("Bash(late)", **LATE),
        an_answer("Bash(stopped)", **STOPPED),
        an_answer("Bash(\x1b[2Jmake)", **HEADLESS),
        an_answer(None, **HEADLESS),
    )

    rest = going_on(a_result("failed", "completed", questions=questions))

    assert rest is not None
    assert rest.rules == ("Edit(/it's.py)", "Bash(rm -r leftovers)")
    assert rest.words()[-2:] == ["""--allow 'Edit(/it'"'"'s.py)'""", "--allow 'Bash(rm -r leftovers)'"]


@pytest.mark.parametrize(
    ("how", "asks"), [(BY_PERSON, True), (LATE, True), (STOPPED, True), (BY_FILE, False), (YES, False)]
)
def test_it_tells_whether_something_is_asked_for_again(how: dict[str, str], asks: bool) -> None:
    rest = going_on(a_result("failed", questions=(an_answer("Bash(x)", **how),)))

    assert rest is not None
    assert (rest.rules, rest.asks_again) == ((), asks)


def test_what_was_refused_before_counts_only_for_what_is_not_done() -> None:
    answers = [an_answer(f"Bash({task}{at})", task, at, **HEADLESS) for task in "12" for at in "13"]

    told = [answer.digest for answer in to_tell(answers, {"1"}, "2")]

    assert told == ["Bash(13)", "Bash(21)", "Bash(23)"]
