"""`swarm events`: what happened in a team, one line each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from swarm.cli.render import local_time, printable
from swarm.cli.session import Io, the_team
from swarm.core.agent import WHY_STOPPED
from swarm.core.event import Event, render_event
from swarm.storage.questions import NOBODY_ANSWERED
from swarm.storage.team import Team

_SAYINGS = {
    "team_created": "made the team",
    "run_started": "started a run",
    "run_ended": "ended the run",
    "agent_spawned": "was started",
    "agent_ready": "is ready",
    "agent_idle": "is idle",
    "agent_waiting": "waits",
    "agent_paused": "is paused",
    "agent_continued": "goes on",
    "agent_restarted": "was started anew",
    "agent_orphaned": "lost its leader",
    "agent_stalled": "gives no sign of life",
    "agent_died": "died",
    "agent_stopped": "stopped",
    "task_created": "added task {task}",
    "task_claimed": "claimed task {task}",
    "task_completed": "completed task {task}",
    "task_failed": "ended task {task} as failed",
    "task_released": "gave task {task} back",
    "task_cancelled": "cancelled task {task}",
    "task_retried": "made task {task} pending again",
    "task_edited": "edited task {task}",
    "task_linked": "made task {task} wait",
    "task_unlinked": "made task {task} wait for less",
    "task_deleted": "deleted task {task}",
    "verify_passed": "verified task {task}",
    "verify_failed": "could not verify task {task}",
    "mail_sent": "sent mail",
    "mail_acknowledged": "read mail",
    "permission_requested": "asks for permission",
    "permission_resolved": "got an answer",
    "rule_added": "added a rule for the whole team",
    "budget_spent": "has no money for its next call",
    "rate_limited": "waits for the model service",
    "mail_expired": "let mail expire",
    "task_edit_reverted": "took back an edit of task {task}",
    "store_repaired": "mended the files",
    "journal_rewritten": "rewrote the journal",
    "inbox_set_aside": "set damaged mail aside",
    "team_archived": "put the team away",
}
_IDS = frozenset({"msg_id", "request"})
_UNTOLD = {
    "run_started": _IDS | {"file"},
    "permission_requested": _IDS | {"number"},
    "permission_resolved": _IDS | {"number", "outcome", "via", "by"},
    "rule_added": _IDS | {"number", "by"},
}
_OF_THE_RUNTIME = frozenset({"agent_idle", "agent_waiting", "agent_stopped"})
_ANSWERED = {"allow": "was allowed", "deny": "was denied", "expired": "got no answer to"}
_VIAS = {"rule": "a rule", "runtime": "the runtime", "classifier": "the classifier"}
_FACT_CHARS = 120
_BAD = frozenset(
    {"task_failed", "verify_failed", "agent_died", "agent_stalled", "agent_orphaned", "budget_spent"}
)
_GOOD = frozenset({"task_completed", "verify_passed"})


def events(args: Mapping[str, Any], io: Io) -> int:
    """Print the events of the team, all or those asked for; with `--follow` go on until interrupted."""
    team = the_team(args, io)
    print_new = _printer(team, io, task=args["task"], agent=args["agent"])
    if args["follow"]:
        from swarm.cli.follow import follow

        return follow(team, io, [team.layout.events], print_new)
    print_new()
    return 0


def event_line(event: Event, *, day: bool = True) -> str:
    """Return one event as a line for people: when, who, what, and the facts that belong to it."""
    at = local_time(event.time)
    who = event.data.get("by", event.agent) if event.event == "rule_added" else event.agent
    return f"{at if day else at.rpartition(' ')[2]}  {printable(str(who))} {_saying(event)}"


def _known_saying(event: Event) -> str | None:
    """Return the words for an event of a kind that we know; those of questions name the question."""
    question = f" #{event.data['number']}" if "number" in event.data else ""
    if event.event == "permission_requested":
        return _SAYINGS[event.event] + question
    if event.event == "permission_resolved" and event.data.get("outcome") in _ANSWERED:
        by = _VIAS.get(str(event.data.get("via")), str(event.data.get("by", "")))
        said = f"{_ANSWERED[event.data['outcome']]}{question or ' a call'}"
        if event.data["outcome"] != "expired":
            return f"{said} by {by}" if by else said
        in_time = event.data.get("note") in (None, NOBODY_ANSWERED)
        return said if in_time else f"leaves{question or ' a call'} open"
    return _SAYINGS.get(event.event)


def _saying(event: Event) -> str:
    known = _known_saying(event)
    saying = known.format(task=event.task) if known else event.event.replace("_", " ")
    if event.task and not (known and "{task}" in known):
        saying += f", task {event.task}"
    facts = [_fact(key, value) for key, value in _told(event).items()]
    return printable(f"{saying}: {'; '.join(facts)}" if facts else saying)


def _told(event: Event) -> dict[str, Any]:
    """Return the facts that tell a person something, with the reasons of the runtime in words."""
    untold = _UNTOLD.get(event.event, _IDS)
    facts = {key: value for key, value in event.data.items() if key not in untold and value != 0}
    reason = str(facts.get("reason", ""))
    if event.event == "agent_died":  # which its reason may say as well
        facts["reason"] = reason.removeprefix(f"{event.agent} died: ")
    elif event.event in _OF_THE_RUNTIME and reason:
        task = f" {facts.pop('on')}" if reason == "waiting_for_task" and "on" in facts else ""
        ended = WHY_STOPPED.get(reason) if event.event == "agent_stopped" else None
        facts["reason"] = ended or reason.replace("_", " ") + task
    return facts


def _fact(key: str, value: object) -> str:
    text = str(value)
    shown = text if len(text) <= _FACT_CHARS else text[:_FACT_CHARS] + "…"
    return shown if key in {"subject", "summary", "reason", "why"} else f"{key.replace('_', ' ')} {shown}"


def _printer(team: Team, io: Io, *, task: str | None, agent: str | None) -> Callable[[], None]:
    """Return a function that prints what came since its last call, of this task and agent if one is given."""
    position = 0

    def print_new() -> None:
        nonlocal position
        for offset, event in team.events.read(position):
            # Inside this line: its rest, with which the next read begins, is no event and is passed over.
            position = offset + 1
            if task not in {None, event.task} or agent not in {None, event.agent}:
                continue
            if io.json:
                io.print_json(render_event(event) | {"offset": offset})
            else:
                io.print_line(event_line(event), event_style(event))

    return print_new


def event_style(event: Event) -> str:
    return "red" if event.event in _BAD else "green" if event.event in _GOOD else ""
