"""Who of a team is there, judged from its files and the process table."""

from __future__ import annotations

from typing import Any

from swarm.core.agent import AgentRecord
from swarm.core.identity import LEADER
from swarm.core.roster import Member, Roster
from swarm.core.times import parse_time
from swarm.errors import CorruptStateError
from swarm.storage.leadership import UNKNOWN, state_of
from swarm.storage.team import Team
from swarm.values import Value


class Present(Value):
    """One teammate. `record` is None before its first start; `heartbeat_age` None where none is recorded.

    `unread` is None when its mail cannot be read. `start_was_cut`: it has had no process for longer than a
    start may take.
    """

    member: Member
    record: AgentRecord | None
    state: str
    heartbeat_age: float | None
    unread: int | None
    start_was_cut: bool = False


def look(team: Team, roster: Roster) -> tuple[Present, ...]:
    """Return every teammate in roster order; the leader is asked for by `leader_state`."""
    return tuple(look_at(team, member) for member in roster.members if member.name != LEADER)


def look_at(team: Team, member: Member) -> Present:
    record = team.agents.load(member.name)
    state, age = state_of(team, record) if record else (UNKNOWN, None)
    unread = _unread(team, member.name)
    return Present(
        member=member,
        record=record,
        state=state,
        heartbeat_age=age,
        unread=unread,
        start_was_cut=record is not None and start_is_overdue(team, record),
    )


def start_is_overdue(team: Team, record: AgentRecord) -> bool:
    """Tell whether a start has led to no process for longer than one may take: nobody is at it any more."""
    if record.state != "starting" or record.pid is not None:
        return False
    try:
        return team.clock.now() - parse_time(record.since) > team.settings.ready_timeout_seconds
    except ValueError:
        return True


def agent_object(present: Present) -> dict[str, Any]:
    """Return the agent as `status --json` has it; what is not known is left out."""
    record, member = present.record, present.member
    known: dict[str, Any] = {"name": member.name, "state": present.state}
    if record is not None:
        known |= {"reason": record.reason, "why": record.why, "on": record.on}
        known |= {"until": record.until, "since": record.since}
        known |= {
            "task": record.task,
            "backend": record.backend,
            "pid": _pid(present),
            "run_id": record.run_id,
        }
    age = present.heartbeat_age
    known["heartbeat_age_seconds"] = None if age is None else round(age, 1)
    known |= {"model": member.model, "permission_mode": member.permission_mode, "unread": present.unread}
    return {key: value for key, value in known.items() if value is not None}


def _pid(present: Present) -> int | None:
    return None if present.record is None or present.state == UNKNOWN else present.record.pid


def _unread(team: Team, name: str) -> int | None:
    try:
        return team.inbox(name).unread_count()
    except CorruptStateError:
        return None
