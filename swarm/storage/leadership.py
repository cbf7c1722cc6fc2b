"""Whether a leader lives, judged by its record and the process table."""

from __future__ import annotations

import os

from swarm.core.agent import AgentRecord, derive_state
from swarm.core.identity import LEADER
from swarm.core.times import parse_time
from swarm.storage.processes import liveness
from swarm.storage.team import Team

UNKNOWN = "unknown"


def leader_state(team: Team) -> str:
    """Return `alive`, `gone` (it did not say that it ends), or `none`."""
    record = team.agents.load(LEADER)
    if record is None or record.state == "stopped":
        return "none"
    state, age = state_of(team, record)
    if state == UNKNOWN:  # on another host only its sign of life can be seen
        return "alive" if age is not None and age <= team.settings.stalled_after_seconds else "gone"
    return "gone" if state == "dead" else "alive"


def is_resumable(team: Team, leader: str, *, unfinished: bool) -> bool:
    """Tell whether `swarm resume` has something to take up: a run that nobody leads and that is not over."""
    left = leader == "gone" or (leader == "none" and unfinished)
    return left and os.path.exists(team.layout.team_file)


def state_of(team: Team, record: AgentRecord) -> tuple[str, float | None]:
    """Return the state of an agent as a reader shows it, and for how long it has given no sign of life."""
    age = _age(record, team.clock.now())
    return derive_state(record, liveness(record), age, team.settings.stalled_after_seconds), age


def _age(record: AgentRecord, now: float) -> float | None:
    if record.heartbeat is None:
        return None
    try:
        return max(0.0, now - parse_time(record.heartbeat))
    except ValueError:
        return None
