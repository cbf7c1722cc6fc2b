"""The open questions of a team and a person's answers to them. The first answer to each counts."""

from __future__ import annotations

from typing import Literal

from swarm.core.identity import USER
from swarm.core.permission import PermissionRequest, Resolution, called, request_digest
from swarm.core.shown import local_time
from swarm.core.spawn import RuleSet
from swarm.errors import ConfigError, CorruptStateError, StateError
from swarm.permissions.calls import Behavior
from swarm.storage.questions import Asker, asker_of, close_stale, expire, settle, tell, why_stale
from swarm.storage.team import Team
from swarm.values import Value

__all__ = ["Answer", "Question", "add_rules", "answer", "close_stale", "open_questions"]

Answer = Literal["allow", "deny"]
_SAID = {"allow": "allowed", "deny": "denied"}


class Question(Value):
    """One that has no answer yet. Nobody waits for the answer to one whose asker is `gone`."""

    request: PermissionRequest
    asker: Asker


def open_questions(team: Team) -> tuple[Question, ...]:
    """Return the questions without an answer, oldest first; costs a look at one folder when there is none."""
    return tuple(
        Question(request=request, asker=asker_of(team, request)) for request in team.permissions.pending()
    )


def answer(
    team: Team, ref: str, outcome: Answer, *, by: str = USER, via: str = "human", note: str | None = None,
    always: bool = False,
) -> Resolution:  # fmt: skip
    """Answer the question with this number or id; with `always` the rule that it suggests is added, too.

    `no_such_request`, or `already_resolved` when somebody was first or nobody waits for the answer any more;
    the message says who and when. Refused without an answer: `always` where there is no such rule, and
    allowing a question whose text is not the one that was asked.
    """
    found = team.permissions.find(ref)
    if isinstance(found, Resolution):
        raise _too_late(found)
    why = why_stale(team, found)
    if why is not None:
        expire(team, found, why)
        raise _too_late(_outcome_of(team, found))
    if outcome == "allow" and request_digest(found.tool, found.input, found.cwd) != found.digest:
        raise CorruptStateError(
            f"{team.layout.pending_dir}/{found.id}.json", "it was changed after it was asked", "deny it"
        )
    rule = _rule_of(found, outcome) if always else None
    if not settle(team, found, outcome, via=via, by=by, note=note or None, rule=rule):
        raise _too_late(_outcome_of(team, found))
    if rule is not None and team.permissions.add_rule("allow", rule):
        tell(team, "rule_added", found, behavior="allow", rule=rule, by=by)
    return _outcome_of(team, found)


def add_rules(team: Team, rules: RuleSet, by: str = USER) -> None:
    """Add these rules to those of the team; they count at once, also for questions that are open."""
    lists: tuple[tuple[Behavior, tuple[str, ...]], ...] = (
        ("deny", rules.deny),
        ("ask", rules.ask),
        ("allow", rules.allow),
    )
    for behavior, texts in lists:
        for text in texts:
            if team.permissions.add_rule(behavior, text):
                team.events.emit("rule_added", by, behavior=behavior, rule=text, by=by)


def _rule_of(request: PermissionRequest, outcome: str) -> str:
    if outcome != "allow":
        raise ConfigError("only an allowed call can be allowed always; leave that out", code="bad_value")
    if request.suggested_rule is None:
        raise ConfigError(
            f"no single rule allows what {called(request)} asks for; allow it this once",
            code="bad_value",
            details={"request": request.id},
        )
    return request.suggested_rule


def _outcome_of(team: Team, request: PermissionRequest) -> Resolution:
    found = team.permissions.resolution(request.id)
    if found is None:
        raise CorruptStateError(
            f"{team.layout.resolved_dir}/{request.id}.json", "it is not an answer of ours"
        )
    return found


def _too_late(resolution: Resolution) -> StateError:
    name = called(resolution)
    note = f": {resolution.note}" if resolution.note else ""
    at = _clock(resolution.at)
    if resolution.outcome == "expired":
        said = f"{name} is over since {at}{note}; nobody waits for an answer to it"
    else:
        by = "" if resolution.by == USER else f" by {resolution.by}"
        said = f"{name} was already {_SAID[resolution.outcome]}{by} at {at}{note}; that stands"
    return StateError(
        said,
        code="already_resolved",
        details={
            "request": resolution.id,
            "outcome": resolution.outcome,
            "by": resolution.by,
            "via": resolution.via,
            "at": resolution.at,
        },
    )


def _clock(time: str) -> str:
    """Return the time of day of an answer, on the clock of whoever reads it."""
    return local_time(time).rpartition(" ")[2]
