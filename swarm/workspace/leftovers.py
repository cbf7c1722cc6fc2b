"""What the commands of one life of an agent left running, and its end."""

from __future__ import annotations

from swarm.core.agent import AgentRecord
from swarm.workspace.processes import Leader, ask_marked, kill_one, kill_tree

COMMIT_MARK = "SWARM_COMMIT"
"""Variable that marks git and its hooks while they commit for the life whose run id it holds."""

_GIT_SECONDS = 5.0
"""How long git may take to give its locks back: on a busy machine longer than commands are given to end."""


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
    return end_life(None, run_id, wait=wait)


def end_life(process: Leader | None, run_id: str, *, wait: float) -> tuple[int, ...]:
    """Kill the process of a life, if it has one of its own, and all that carries its run id.

    First the process, which might act on the end of the others; and its commits are asked to end, as git then
    gives the locks on the repository back, which would keep everybody else from committing.
    """
    if process is not None:
        kill_one(process)
    ask_marked(f"{COMMIT_MARK}={run_id}", _GIT_SECONDS)
    return kill_tree(process, f"SWARM_RUN_ID={run_id}", wait)
