"""Claims that a dead agent left behind: anybody finds them, and they are freed once.

A life of an agent is over when its process is provably gone, when its record says that it has stopped, or
when a later life has taken its place. Silence proves nothing, and neither does a process on another host
or in another pid namespace. Claims made at the command line, and by names without a record, stay.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from swarm.core.agent import AgentRecord
from swarm.core.identity import RUNTIME, RunId, is_later_life, parse_run_id
from swarm.core.task import Task
from swarm.errors import CorruptStateError
from swarm.storage import network, processes
from swarm.storage.assignments import tell_if_missing
from swarm.storage.team import Team
from swarm.values import Value

EndTools = Callable[[AgentRecord], object]
"""Ends the commands of this life that still run: those in its `tools`, and all marked with its run id."""

_CLI = "cli"
_last_looks: dict[str, float] = {}


class Freed(Value):
    """A task that was taken from a dead life: pending again, or failed after too many deaths."""

    task: Task
    run_id: str
    reason: str


class DeadLife(Value):
    """A life that is over although tasks in progress are claimed for it."""

    record: AgentRecord
    reason: str
    replaced: bool = False
    """Whether another life has the agent's record by now; then nothing else is known of this one."""


def is_due(team: Team) -> bool:
    """Tell whether it is time to look again; asking counts as a look, for all of this process.

    For loops that look all the time. Who is about to claim for a person looks whenever that happens.
    """
    now = team.clock.monotonic()
    last = _last_looks.get(team.layout.team_dir)
    if last is not None and 0 <= now - last < team.settings.idle_check_seconds:
        return False
    _last_looks[team.layout.team_dir] = now
    return True


def find_dead_lives(team: Team, by: str = RUNTIME) -> tuple[DeadLife, ...]:
    """Return the lives that have tasks in progress and are over.

    Reads one record for each task in progress, and nothing without one.
    """
    found: dict[str, DeadLife] = {}
    for task in team.tasks(by).table().in_progress():
        if task.claim is not None and task.claim.run_id not in found:
            dead = find_dead_life(team, task)
            if dead is not None:
                found[task.claim.run_id] = dead
    return tuple(found.values())


def find_dead_life(team: Team, task: Task) -> DeadLife | None:
    """Return the life that has this task in progress, if it is over."""
    if task.status != "in_progress" or task.claim is None:
        return None
    return _judge(team, task.claim.run_id, task.claim.at)


def is_outlived(team: Team, run_id: str) -> bool:
    """Tell whether a life has no say in this team (any more): it has ended, or was never one of it.

    What it left running may go on, and find a team of the same name that another run has made. A damaged
    record proves nothing. Who claimed at the command line has no record: its say ends with the claim.
    """
    life = parse_run_id(run_id)
    if life.life == _CLI:
        held = team.tasks(life.agent).table().in_progress()
        return not any(task.claim and task.claim.run_id == run_id for task in held)
    try:
        record = network.look_again(lambda: team.agents.load(life.agent))
    except CorruptStateError:
        return False
    return record is None or record.run_id != run_id or record.state == "stopped"


def free_dead_claims(team: Team, end_tools: EndTools, by: str = RUNTIME) -> tuple[Freed, ...]:
    """Free every claim of a life that is over, in the name of `by`. Safe beside others that do the same.

    Waits until the commands of the dead are ended, for as long as `end_tools` does.
    """
    return tuple(
        freed for dead in find_dead_lives(team, by) for freed in free_claims_of(team, dead, end_tools, by)
    )


def free_claims_of(team: Team, dead: DeadLife, end_tools: EndTools, by: str = RUNTIME) -> tuple[Freed, ...]:
    """Free what this life holds. The caller has proved that it is over.

    Its commands first: until they are gone nobody else may work on its tasks. Its record last, so that
    whoever is killed in between leaves a claim that can still be seen as that of a dead one.
    """
    life = dead.record
    if life.boot_id == processes.boot_id():  # after a boot the numbers mean other processes
        end_tools(life)
    freed = tuple(_free(team, dead, by))
    ended_by_us = bool(freed) if dead.replaced else team.agents.end_life(life.run_id, "killed")
    if ended_by_us:
        team.events.emit("agent_died", life.name, run_id=life.run_id, reason=dead.reason)
    return freed


def _free(team: Team, dead: DeadLife, by: str) -> Iterator[Freed]:
    store, run_id = team.tasks(by), dead.record.run_id
    for task_id in store.table().in_progress_of(dead.record.name):
        task = store.free_dead(task_id, run_id, dead.reason)
        if task is not None:
            tell_if_missing(team, task, dead=None if dead.replaced else dead.record.name)
            yield Freed(task=task, run_id=run_id, reason=dead.reason)


def _judge(team: Team, run_id: str, claimed_at: str) -> DeadLife | None:
    life = _find_life(run_id)
    record = _find_record(team, life.agent) if life is not None else None
    if record is None or (record.host, record.pid_ns) != (processes.host(), processes.pid_ns()):
        return None
    if record.run_id != run_id:
        return _judge_replaced(record, run_id, claimed_at)
    if record.state == "stopped":
        return DeadLife(record=record, reason=f"{record.name} stopped without giving it back")
    if processes.liveness(record) == "dead":
        return DeadLife(record=record, reason=f"{record.name} died: its process is gone")
    return None


def _judge_replaced(record: AgentRecord, run_id: str, claimed_at: str) -> DeadLife | None:
    """Judge a life by the record of another one. That must have come up, and after the claim."""
    if record.pid is None or not _is_later(record, run_id, claimed_at):
        return None
    earlier = record.replace(run_id=run_id, tools=())  # the tools are those of the later life
    return DeadLife(record=earlier, reason=f"{record.name} was started anew", replaced=True)


def _is_later(record: AgentRecord, run_id: str, claimed_at: str) -> bool:
    if parse_run_id(record.run_id).run == parse_run_id(run_id).run:
        return is_later_life(record.run_id, run_id)
    return (record.started_at or "") > claimed_at


def _find_life(run_id: str) -> RunId | None:
    """Return the life that claims; None for a claim made at the command line, or under no run id of ours."""
    try:
        life = parse_run_id(run_id)
    except ValueError:
        return None
    return None if life.life == _CLI else life


def _find_record(team: Team, name: str) -> AgentRecord | None:
    """Return an agent's record; a damaged one proves nothing."""
    try:
        record = team.agents.load(name)
        if record is not None:
            parse_run_id(record.run_id)
    except (CorruptStateError, ValueError):
        return None
    return record
