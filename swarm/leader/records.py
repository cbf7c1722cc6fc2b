"""What the leader writes about itself and about a teammate that it starts."""

from __future__ import annotations

import os

from swarm.core.agent import AgentRecord
from swarm.core.identity import LEADER, agent_id
from swarm.core.roster import SPAWN_COMMAND, Member
from swarm.core.spawn import TeammateSpec
from swarm.core.times import format_time
from swarm.storage.processes import boot_id, host, pid_ns, start_ticks


def roster_member(team: str, spec: TeammateSpec, now: float) -> Member:
    """The roster entry of a teammate that is about to start."""
    return Member(
        agent_id=agent_id(spec.name, team),
        name=spec.name,
        color=spec.color,
        joined_at=int(now * 1000),
        tmux_pane_id=spec.backend,
        model=spec.model,
        plan_mode_required=spec.permission_mode == "plan",
        cwd=spec.workspace,
        backend_type=spec.backend,
        role=spec.role,
        permission_mode=spec.permission_mode,
        rules=next((one for one in spec.rules if one.source == SPAWN_COMMAND), None),
    )


def starting_record(spec: TeammateSpec, now: float) -> AgentRecord:
    """The record that a teammate takes over when it is ready; until then it has no process."""
    at = format_time(now)
    return AgentRecord(
        name=spec.name,
        run_id=spec.run_id,
        leader=spec.leader_run_id,
        host=host(),
        boot_id=boot_id(),
        pid_ns=pid_ns(),
        backend=spec.backend,
        state="starting",
        since=at,
        started_at=at,
        heartbeat=at,
    )


def leader_record(
    run_id: str, backend: str, state: str, now: float, reason: str | None = None
) -> AgentRecord:
    """The leader's own record: its process is this one."""
    at = format_time(now)
    return AgentRecord(
        name=LEADER,
        run_id=run_id,
        host=host(),
        boot_id=boot_id(),
        pid_ns=pid_ns(),
        pid=os.getpid(),
        start_ticks=start_ticks(os.getpid()),
        backend=backend,
        state=state,
        since=at,
        reason=reason,
        started_at=at,
        heartbeat=at,
    )
