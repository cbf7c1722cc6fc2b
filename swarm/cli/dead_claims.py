"""Claims of dead agents at the command line: named where tasks are shown, freed before a claim."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING

from swarm.cli.session import Io
from swarm.core.task import Task

if TYPE_CHECKING:
    from swarm.core.agent import AgentRecord
    from swarm.storage.team import Team


def free_dead(team: Team, by: str) -> None:
    """Free what dead agents left, so that it can be claimed now; nothing is read where no task is in hand."""
    from swarm.storage.dead import free_dead_claims

    free_dead_claims(team, partial(_end_leftovers, team), by)


def end_commands_of_the_dead(team: Team) -> None:
    """End what lives that are over left running: without the team's records nobody could find it again."""
    from swarm.storage import processes

    here = processes.host(), processes.boot_id(), processes.pid_ns()
    for record in team.agents.list_agents():
        over = record.state == "stopped" or processes.liveness(record) == "dead"
        if over and (record.host, record.boot_id, record.pid_ns) == here:
            _end_leftovers(team, record)


def note_dead(tasks: Iterable[Task], team: Team, io: Io) -> None:
    """Say which of these tasks are in progress by name only; changes nothing."""
    running = [task for task in tasks if task.status == "in_progress"]
    if not running or io.json or io.quiet:
        return
    from swarm.storage.dead import find_dead_life

    for task in running:
        dead = find_dead_life(team, task)
        if dead is not None:
            io.note(f"task {task.id}: {dead.reason}; the next claim frees it")


def _end_leftovers(team: Team, life: AgentRecord) -> None:
    from swarm.workspace.leftovers import end_leftovers

    end_leftovers(life, wait=team.settings.bash_kill_wait_seconds)
