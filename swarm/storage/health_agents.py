"""Health of agent records: records that cannot be read, claims of the dead, records of dead processes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from swarm.core.agent import AgentRecord
from swarm.core.identity import USER
from swarm.errors import CorruptStateError
from swarm.storage import processes, syscalls
from swarm.storage.dead import DeadLife, EndTools, find_dead_lives, free_claims_of
from swarm.storage.finding import Finding, set_aside
from swarm.storage.lock import FileLock
from swarm.storage.team import Team


def examine_agents(team: Team, end_tools: EndTools) -> Iterator[Finding]:
    """Find what lives that are over left behind. `end_tools` ends the commands of one that is freed."""
    for name in _names(team):
        try:
            team.agents.load(name)
        except CorruptStateError as error:
            yield Finding(
                kind="damaged_record",
                path=team.layout.agent(name),
                what=f"it cannot be read: {error.why}",
                remedy="it is set aside",
                mend=partial(_set_aside_record, team, name),
            )
    for dead in find_dead_lives(team, USER):
        yield from _claims(team, dead, end_tools)
    for record in _readable(team):
        if record.state != "stopped" and processes.liveness(record) == "dead":
            yield Finding(
                kind="dead_agent",
                path=team.layout.agent(record.name),
                what=f"it says that {record.name} is {record.state}, whose process {record.pid} is gone",
                remedy="it says that the agent stopped",
                mend=partial(team.agents.end_life, record.run_id, "killed"),
            )


def examine_secrets(team: Team) -> Iterator[Finding]:
    """Find spawn files that nobody has read: they hold keys, and their reader did not come up in time."""
    for entry in sorted(syscalls.list_folder(team.layout.spawn_dir)):
        path = f"{team.layout.spawn_dir}/{entry}"
        state = syscalls.find_stat(path)
        if state and team.clock.now() - state.st_mtime > team.settings.ready_timeout_seconds:
            yield Finding(
                kind="leftover_secret",
                path=path,
                what="it was left for an agent that did not come up to read it, and may hold keys",
                remedy="it is removed",
                mend=partial(syscalls.unlink, path),
            )


def _names(team: Team) -> list[str]:
    entries = syscalls.list_folder(team.layout.agents_dir)
    return sorted(e.removesuffix(".json") for e in entries if e.endswith(".json") and e[0] != ".")


def _readable(team: Team) -> Iterator[AgentRecord]:
    for name in _names(team):
        try:
            record = team.agents.load(name)
        except CorruptStateError:
            continue
        if record is not None:
            yield record


def _claims(team: Team, dead: DeadLife, end_tools: EndTools) -> Iterator[Finding]:
    held = [
        task
        for task in team.tasks(USER).table().in_progress()
        if task.claim is not None and task.claim.run_id == dead.record.run_id
    ]
    for task in held:
        yield Finding(
            kind="dead_claim",
            path=team.layout.task(task.id),
            what=f"task {task.id} is claimed, but {dead.reason}",
            remedy="the commands it left are ended, and the task is given back",
            mend=partial(free_claims_of, team, dead, end_tools, USER),
        )


def _set_aside_record(team: Team, name: str) -> None:
    with FileLock(team.layout.lock(f"agent-{name}"), team.settings, team.clock, "doctor"):
        set_aside(team, team.layout.agent(name))
