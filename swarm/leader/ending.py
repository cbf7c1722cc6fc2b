"""Ending teammates from outside: asked first, killed by their recorded identity when time is up.

Works on the team's files and the process table alone, whoever has started them.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence

from swarm.core.agent import AgentRecord
from swarm.core.identity import LEADER
from swarm.errors import StateError
from swarm.leader.orders import drop_orders, order_stop, waiting_orders
from swarm.storage import processes
from swarm.storage.dead import DeadLife, free_claims_of, free_dead_claims
from swarm.storage.team import Team
from swarm.workspace.leftovers import end_leftovers, end_life, end_marked
from swarm.workspace.processes import Leader

STOPPED = "stopped"
KILLED = "killed"
ALREADY_ENDED = "already_ended"
_POLL_SECONDS = 0.02
_IN_PROCESS = "in-process"


def end_agents(
    team: Team, names: Sequence[str], *, by: str, timeout: float, force: bool
) -> Mapping[str, str]:
    """End these teammates and return how each ended; by then their processes and commands are gone.

    Each is asked, and killed if it is still there after `timeout` seconds; with `force` it is not asked,
    unless it lives in the leader's process. Repeats do nothing. `agent_alive` when one cannot be ended from
    here.
    """
    outcomes: dict[str, str] = {}
    alive: dict[str, AgentRecord] = {}
    for name in names:
        record = team.agents.load(name)
        if record is None or is_over(record) or _went_with_its_leader(team, record):
            _settle(team, record, by)
            outcomes[name] = ALREADY_ENDED
        else:
            alive[name] = record
    if not force:
        for name in alive:
            order_stop(team, name, f"{by} asks for it")
        _wait(team, alive.values(), timeout)
    for name, record in alive.items():
        how = f"{by} asked for it" if force else "it did not stop by itself"
        outcomes[name] = _end(team, record, by, f"{record.name} was killed: {how}")
        drop_orders(team, name)
    return {name: outcomes[name] for name in names}


def is_over(record: AgentRecord) -> bool:
    """Tell whether this life has ended, with its process if it had one of its own."""
    state = processes.liveness(record)
    if record.backend == _IN_PROCESS or state == "unknown":
        return record.state == "stopped" or state == "dead"
    return state == "dead"


def _went_with_its_leader(team: Team, record: AgentRecord) -> bool:
    """Tell whether it was to come up in the process of a leader that is gone, or that leads no more."""
    if record.backend != _IN_PROCESS or record.pid is not None:
        return False
    leader = team.agents.load(LEADER)
    return leader is None or leader.run_id != record.leader or is_over(leader)


def _wait(team: Team, records: Iterable[AgentRecord], timeout: float) -> None:
    deadline = time.monotonic() + timeout
    waiting = list(records)
    while waiting and time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)
        waiting = [record for record in waiting if not is_over(_now(team, record))]


def _now(team: Team, record: AgentRecord) -> AgentRecord:
    """Return the record of this life as it is now; as it was last if another life has the record."""
    found = team.agents.load(record.name)
    return found if found is not None and found.run_id == record.run_id else record


def _end(team: Team, before: AgentRecord, by: str, why: str) -> str:
    record = _now(team, before)
    if record.backend == _IN_PROCESS and not is_over(record):
        record = _end_in_process(team, record, by)
    asked = record.state == "stopped"
    if not is_over(record):
        _kill(team, record)
    if asked:
        end_marked(record.run_id, wait=team.settings.bash_kill_wait_seconds)
        return STOPPED
    _settle(team, record, by, why)
    return KILLED


def _end_in_process(team: Team, record: AgentRecord, by: str) -> AgentRecord:
    """End one that cannot be killed alone: it is asked in any case, and only then what it waits for is ended.

    The other way round it would take the end of its command for a failure of its own.
    """
    wait = team.settings.bash_kill_wait_seconds
    if not waiting_orders(team, record.name):
        order_stop(team, record.name, f"{by} asks for it")
    _wait(team, [record], team.settings.idle_check_seconds + wait)
    if not is_over(_now(team, record)):
        end_leftovers(record, wait=wait)
        _wait(team, [record], wait)
    now = _now(team, record)
    if is_over(now):
        return now
    raise _cannot(record, f"it lives in process {record.pid}, which leads the run; end that")


def _kill(team: Team, record: AgentRecord) -> None:
    wait = team.settings.bash_kill_wait_seconds
    if (record.host, record.pid_ns) != (processes.host(), processes.pid_ns()):
        raise _cannot(record, f"it runs on {record.host}, or in another container; stop it there")
    # First the record: a leader does not start anew whom it finds stopped.
    team.agents.end_life(record.run_id, KILLED)
    leader = Leader(record.pid, record.start_ticks or 0) if record.pid is not None else None
    left = end_life(leader, record.run_id, wait=wait)
    if left:
        raise _cannot(record, f"the system does not let go of process {left[0]}")
    team.events.emit("agent_stopped", record.name, run_id=record.run_id, reason=KILLED)


def _settle(team: Team, record: AgentRecord | None, by: str, reason: str | None = None) -> None:
    """Free what a life that is over left, and end what still runs of it."""
    if record is None:
        return

    def end_tools(life: AgentRecord) -> None:
        end_leftovers(life, wait=team.settings.bash_kill_wait_seconds)

    if record.state == "stopped":
        free_dead_claims(team, end_tools, by)
        if (record.host, record.boot_id) == (processes.host(), processes.boot_id()):
            end_marked(record.run_id, wait=team.settings.bash_kill_wait_seconds)
    else:
        why = reason or f"{record.name} died: its process is gone"
        free_claims_of(team, DeadLife(record=record, reason=why), end_tools, by)
    drop_orders(team, record.name)


def _cannot(record: AgentRecord, why: str) -> StateError:
    return StateError(
        f"{record.name} cannot be ended from here: {why}",
        code="agent_alive",
        details={"agent": record.name, "pid": record.pid},
    )
