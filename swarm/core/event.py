"""The audit log: one line for each thing that happened, written after it happened."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from swarm.core.fields import EMPTY, mapping, optional_integer, optional_text, present, rest, text
from swarm.core.identity import agent_of_run
from swarm.core.jsontext import json_line, parse_object
from swarm.core.task import FINISHED, Task
from swarm.values import Value

EVENT_KINDS = frozenset(
    """
    team_created team_archived run_started run_ended
    agent_spawned agent_ready agent_idle agent_waiting agent_paused agent_continued agent_restarted
    agent_stalled agent_orphaned agent_died agent_stopped
    task_created task_claimed task_completed task_failed task_released task_cancelled task_retried
    task_edited task_linked task_unlinked task_deleted task_edit_reverted
    verify_passed verify_failed
    mail_sent mail_acknowledged mail_expired inbox_set_aside
    permission_requested permission_resolved rule_added
    budget_spent rate_limited store_repaired journal_rewritten
    """.split()
)


class Event(Value):
    """What happened, to whom. `seq` is the journal line of a `task_*` event; `data` is flat."""

    time: str
    event: str
    agent: str
    run_id: str | None = None
    task: str | None = None
    seq: int | None = None
    data: Mapping[str, Any] = EMPTY
    extra: Mapping[str, Any] = EMPTY


def parse_event(obj: Mapping[str, Any]) -> Event:
    return Event(
        time=text(obj, "time"),
        event=text(obj, "event"),
        agent=text(obj, "agent"),
        run_id=optional_text(obj, "run_id"),
        task=optional_text(obj, "task"),
        seq=optional_integer(obj, "seq"),
        data=mapping(obj, "data"),
        extra=rest(obj, _EVENT_KEYS),
    )


def render_event(event: Event) -> dict[str, Any]:
    known = present(
        time=event.time,
        event=event.event,
        agent=event.agent,
        run_id=event.run_id,
        task=event.task,
        seq=event.seq,
        data=dict(event.data) or None,
    )
    return {**known, **event.extra}


def parse_event_line(raw: bytes) -> Event:
    return parse_event(parse_object(raw))


def render_event_line(event: Event) -> bytes:
    return json_line(render_event(event))


def event_of_line(line: Mapping[str, Any], before: Task | None, after: Task | None) -> Event:
    """Return the event of a journal line, given its task before and after it.

    For an edge the task is `b`, the one that waits. Lines that start a rewritten journal have no event.
    """
    kind, facts = _KINDS[line["op"]](line, before, after)
    task = after or before
    subject = {"subject": task.subject} if task else {}
    return Event(
        time=line["at"],
        event=kind,
        agent=line["by"],
        run_id=_run_of(line),
        task=line.get("id") or line.get("b"),
        seq=line["seq"],
        data=subject | present(**facts),
    )


_Facts = tuple[str, dict[str, Any]]


def _done(line: Mapping[str, Any], _before: Task | None, _after: Task | None) -> _Facts:
    result = line.get("result") or EMPTY
    facts = {
        "summary": result.get("summary"),
        "commit": result.get("commit"),
        "reason": line.get("reason"),
        "attempts": line.get("attempts"),
        "crashes": line.get("crashes"),
    }
    return f"task_{line['status']}", facts


def _free(line: Mapping[str, Any], before: Task | None, _after: Task | None) -> _Facts:
    if before is not None and before.status in FINISHED:
        return "task_retried", {}
    return "task_released", {key: line.get(key) for key in ("reason", "attempts", "crashes")}


def _edge(line: Mapping[str, Any], _before: Task | None, _after: Task | None) -> _Facts:
    return ("task_linked" if line["add"] else "task_unlinked"), {"blocker": line["a"]}


def _edit(line: Mapping[str, Any], _before: Task | None, _after: Task | None) -> _Facts:
    return "task_edited", {"fields": " ".join([*line["set"], *line.get("swarm", EMPTY)])}


_KINDS = {
    "new": lambda *_: ("task_created", {}),
    "claim": lambda *_: ("task_claimed", {}),
    "done": _done,
    "free": _free,
    "edge": _edge,
    "edit": _edit,
    "del": lambda *_: ("task_deleted", {}),
}


def _run_of(line: Mapping[str, Any]) -> str | None:
    """Return the run id of the agent that wrote the line; a person's or the runtime's line has none."""
    run_id = line.get("run") or line.get("token", "").partition("/")[2]
    return run_id if run_id and agent_of_run(run_id) == line["by"] else None


_EVENT_KEYS = frozenset({"time", "event", "agent", "run_id", "task", "seq", "data"})
