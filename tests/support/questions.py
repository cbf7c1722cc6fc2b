"""Questions of teammates that live, so that an answer to one counts."""

from __future__ import annotations

import os
from typing import Any

from swarm.core.agent import AgentRecord
from swarm.core.permission import PermissionRequest, request_digest
from swarm.core.times import format_time
from swarm.storage import processes
from swarm.storage.team import Team
from tests.support.stores import RUN_OF
from worker.context.agent import AgentContext

_WAITS_SECONDS = 600

W1 = AgentContext(
    name="w1",
    team="demo",
    role=None,
    run_id=RUN_OF["w1"],
    color=None,
    model="scripted",
    permission_mode="default",
)
"""Who asks in a team of `make_team`."""


def ask(
    team: Team, command: str = "pip install x", *, agent: str = "w1", rule: str | None = "Bash(pip install:*)"
) -> PermissionRequest:
    """Put a question of an agent that waits in this very process."""
    now = team.clock.now()
    run_id, pid = f"k3v9qd7m.{agent}.1", os.getpid()
    record = AgentRecord(
        name=agent,
        run_id=run_id,
        backend="process",
        state="waiting",
        since=format_time(now),
        host=processes.host(),
        boot_id=processes.boot_id(),
        pid_ns=processes.pid_ns(),
        pid=pid,
        start_ticks=processes.start_ticks(pid),
    )
    team.agents.save(record)
    given: dict[str, Any] = {"command": command}
    cwd = team.layout.team_dir
    return team.permissions.request(
        PermissionRequest(
            id=f"perm-{round(now * 1000)}-{processes.new_short_id()}",
            agent=agent,
            run_id=run_id,
            task="7",
            tool="Bash",
            tool_use_id="toolu_02",
            input=given,
            cwd=cwd,
            why="No rule allows it.",
            suggested_rule=rule,
            digest=request_digest("Bash", given, cwd),
            created_at=format_time(now),
            deadline_at=format_time(now + _WAITS_SECONDS),
        )
    )
