from __future__ import annotations

from typing import Any

import pytest

from swarm.core import operations
from swarm.core.event import EVENT_KINDS, Event, event_of_line, parse_event_line, render_event_line
from swarm.core.task import Task, TaskResult
from tests.support.journaled import AT, Journaled, run_of


class Told(Journaled):
    """A journal that also keeps the event of each line."""

    def __init__(self) -> None:
        super().__init__()
        self.events: list[Event] = []

    def write(self, body: Any, by: str = "user") -> tuple[str, ...]:
        task_id = body.get("id") or body["b"]
        before: Task | None = self.table.find(task_id)
        touched = super().write(body, by)
        self.events.append(event_of_line(self.lines[-1], before, self.table.find(task_id)))
        return touched


def told(event: Event) -> tuple[str, str, str | None, str | None, dict[str, Any]]:
    return event.event, event.agent, event.run_id, event.task, dict(event.data)


def test_each_line_tells_its_story() -> None:
    journal = Told()
    run, subject = run_of("w1"), {"subject": "Do it"}
    journal.add()
    token = journal.claim("w1")
    journal.write(operations.end_attempt(journal.table, "1", token, "verify failed", 3), "w1")
    token = journal.claim("w1")
    journal.write(operations.fail(journal.table, "1", token, "no luck"), "w1")
    journal.write(operations.retry(journal.table, "1"))
    journal.claim("w1")
    journal.write(operations.free_dead(journal.table, "1", run, "w1 died", 5), "runtime")
    token = journal.claim("w1")
    result = TaskResult(summary="Done.", commit="9f1c2ab")
    journal.write(operations.complete(journal.table, "1", token, result), "w1")

    claimed = ("task_claimed", "w1", run, "1", subject)
    assert [told(event) for event in journal.events] == [
        ("task_created", "user", None, "1", subject),
        claimed,
        (
            "task_released",
            "w1",
            run,
            "1",
            {**subject, "reason": "verify failed", "attempts": 1, "crashes": 0},
        ),
        claimed,
        ("task_failed", "w1", run, "1", {**subject, "reason": "no luck"}),
        ("task_retried", "user", None, "1", subject),
        claimed,
        (
            "task_released",
            "runtime",
            None,
            "1",
            {**subject, "reason": "w1 died", "attempts": 0, "crashes": 1},
        ),
        claimed,
        ("task_completed", "w1", run, "1", {**subject, "summary": "Done.", "commit": "9f1c2ab"}),
    ]
    assert [event.seq for event in journal.events] == list(range(1, 11))
    assert {event.time for event in journal.events} == {AT}
    assert {event.event for event in journal.events} <= EVENT_KINDS


def test_changes_of_the_graph_tell_theirs() -> None:
    journal = Told()
    journal.add()
    journal.add()
    journal.write(operations.link(journal.table, "1", "2"))
    journal.write(operations.unlink(journal.table, "1", "2"))
    journal.write(operations.edit(journal.table, "2", {"description": "x"}, {"files": ["a"]}))
    journal.write(operations.edit(journal.table, "2", {"description": "y"}, {}))
    journal.write(operations.cancel(journal.table, "2", "no"))
    journal.write(operations.delete(journal.table, "2"))

    subject = {"subject": "Do it"}
    assert [told(event) for event in journal.events[2:]] == [
        ("task_linked", "user", None, "2", {**subject, "blocker": "1"}),
        ("task_unlinked", "user", None, "2", {**subject, "blocker": "1"}),
        ("task_edited", "user", None, "2", {**subject, "fields": "description files"}),
        ("task_edited", "user", None, "2", {**subject, "fields": "description"}),
        ("task_cancelled", "user", None, "2", {**subject, "reason": "no"}),
        ("task_deleted", "user", None, "2", subject),
    ]


def test_a_cancelled_claim_is_the_canceller_s_deed() -> None:
    """The line carries the worker's token, but the worker did nothing."""
    journal = Told()
    journal.add()
    journal.claim("w1")
    journal.write(operations.cancel(journal.table, "1", "no"))

    assert (journal.events[-1].agent, journal.events[-1].run_id) == ("user", None)


def test_a_line_whose_task_is_not_known_still_has_its_event() -> None:
    line = {"seq": 3, "op": "del", "at": AT, "by": "user", "id": "9", "near": []}

    assert told(event_of_line(line, None, None)) == ("task_deleted", "user", None, "9", {})


@pytest.mark.parametrize("op", ["head", "snap"])
def test_a_rewrite_has_no_event(op: str) -> None:
    with pytest.raises(KeyError):
        event_of_line({"op": op}, None, None)


def test_an_event_is_one_line_without_what_is_absent() -> None:
    event = Event(time=AT, event="run_started", agent="user", extra={"x": 1})
    line = render_event_line(event)

    assert line == b'{"time":"%s","event":"run_started","agent":"user","x":1}\n' % AT.encode()
    assert parse_event_line(line) == event
