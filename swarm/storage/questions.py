"""Questions of agents that wait for a person: who still waits, and the end of those that nobody waits for."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, Literal

from swarm.core.identity import LEADER, RUNTIME
from swarm.core.message import plan_approval_response
from swarm.core.permission import PLAN_TOOL, PermissionRequest, Resolution, render_request
from swarm.core.times import format_time, parse_time
from swarm.errors import CorruptStateError, SwarmError
from swarm.storage import network, processes
from swarm.storage.mail import send
from swarm.storage.team import Team

Asker = Literal["alive", "gone"]

NOBODY_ANSWERED = "nobody answered in time"
ASKER_GONE = "the agent that asked is gone"
STOPPED_WAITING = "the agent was stopped while it waited"


def was_left_open(resolution: Resolution) -> bool:
    """Tell whether a question was closed because its asker went, and not since its time was over."""
    return resolution.outcome == "expired" and resolution.note not in (None, NOBODY_ANSWERED)


def asker_of(team: Team, request: PermissionRequest) -> Asker:
    """Tell whether the life that asked may still wait; a damaged record proves nothing."""
    try:
        record = network.look_again(lambda: team.agents.load(request.agent))
    except CorruptStateError:
        return "alive"
    if record is None or record.run_id != request.run_id or record.state == "stopped":
        return "gone"
    return "gone" if processes.liveness(record) == "dead" else "alive"


def why_stale(team: Team, request: PermissionRequest) -> str | None:
    """Return why an answer would come too late; None while one is waited for."""
    if asker_of(team, request) == "gone":
        return ASKER_GONE
    try:
        return NOBODY_ANSWERED if parse_time(request.deadline_at) <= team.clock.now() else None
    except ValueError:
        return None


def settle(
    team: Team, request: PermissionRequest, outcome: str, *, via: str, by: str, note: str | None = None,
    rule: str | None = None,
) -> bool:  # fmt: skip
    """Answer a question and tell of it; False, and nothing changed, if it was answered before."""
    resolution = Resolution(
        id=request.id,
        digest=request.digest,
        outcome=outcome,
        via=via,
        by=by,
        note=note,
        rule=rule,
        at=format_time(team.clock.now()),
        request=render_request(request),
    )
    if not team.permissions.resolve(resolution):
        return False
    told: dict[str, Any] = {"tool": request.tool, "outcome": outcome, "via": via, "by": by}
    tell(team, "permission_resolved", request, **told, **({"note": note} if note else {}))
    if request.tool == PLAN_TOOL and by != RUNTIME:
        _tell_planner(team, request, resolution)
    return True


def _tell_planner(team: Team, request: PermissionRequest, resolution: Resolution) -> None:
    """Put into the mail of whoever handed in the plan what became of it; the answer itself is the file."""
    approved = resolution.outcome == "allow"
    text = plan_approval_response(
        request.id,
        resolution.at,
        approved=approved,
        mode=str(request.extra.get("mode_after", "default")) if approved else None,
        feedback=resolution.note,
    )
    with suppress(SwarmError):
        send(team, LEADER, request.agent, text, summary=f"plan {'approved' if approved else 'rejected'}")


def expire(team: Team, request: PermissionRequest, why: str) -> bool:
    """Close a question that nobody waits for (any more); False if it was answered before."""
    return settle(team, request, "expired", via="runtime", by=RUNTIME, note=why)


def close_stale(team: Team, mine: Callable[[PermissionRequest], bool] | None = None) -> int:
    """Close the questions whose time is over or whose asker is gone, and return how many there were.

    With `mine` only those for which it is true. Safe beside others that do the same. Removes what answerers
    that were killed left of questions, too.
    """
    closed = 0
    team.permissions.forget_answered()
    for request in team.permissions.pending():
        if mine is None or mine(request):
            why = why_stale(team, request)
            closed += why is not None and expire(team, request, why)
    return closed


def tell(team: Team, kind: str, request: PermissionRequest, **data: Any) -> None:
    """Append an event of a question, in the name of the one who asked."""
    team.events.emit(
        kind,
        request.agent,
        run_id=request.run_id,
        task=request.task,
        request=request.id,
        **({} if request.number is None else {"number": request.number}),
        **data,
    )
