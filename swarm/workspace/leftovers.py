"""What the commands of one life of an agent left running, and its end."""

from __future__ import annotations

from swarm.core.agent import AgentRecord
from swarm.workspace.processes import Leader, kill_marked, kill_tree


def end_leftovers(life: AgentRecord, *, wait: float) -> tuple[int, ...]:
    """Kill the recorded tools of this life and all that carries its run id; return what survived `wait`.

    For a life that is over, on this host and of this boot. A process of its own that goes on is killed too.
    """
    left: tuple[int, ...] = ()
    for tool in life.tools:
        if tool.pgid is not None and tool.start_ticks is not None:
            left += kill_tree(Leader(tool.pgid, tool.start_ticks), None, wait)
    return left + end_marked(life.run_id, wait=wait)


def end_marked(run_id: str, *, wait: float) -> tuple[int, ...]:
    """Kill all that carries this run id, but never this process; return what survived."""
    return kill_marked(f"SWARM_RUN_ID={run_id}", wait)
