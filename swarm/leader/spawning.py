"""Starting one teammate: begun, then confirmed by itself, or undone."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Sequence
from contextlib import suppress

from swarm.backends.last_words import last_words
from swarm.backends.port import Backend
from swarm.core.identity import USER
from swarm.core.spawn import TeammateSpec
from swarm.errors import BackendError, SwarmError
from swarm.leader.orders import drop_orders
from swarm.leader.records import roster_member, starting_record
from swarm.storage import syscalls
from swarm.storage.lock import FileLock
from swarm.storage.team import Team

_LOOK_SECONDS = 0.005


def turn(team: Team, name: str) -> FileLock:
    """Return the lock that makes those at the command line take turns who end and start one name."""
    return FileLock(_turn_file(team, name), team.settings, team.clock, USER)


def is_being_started(team: Team, name: str) -> bool:
    """Tell whether somebody at the command line has the turn to start this name, or to start it anew."""
    fd = syscalls.find_file(_turn_file(team, name), os.O_RDONLY)
    if fd is None:
        return False
    try:
        return not syscalls.lock_now(fd, _turn_file(team, name))
    finally:
        syscalls.close(fd)


def _turn_file(team: Team, name: str) -> str:
    return team.layout.lock(f"spawn-{name}")


async def start_teammates(team: Team, backend: Backend, specs: Sequence[TeammateSpec]) -> None:
    """Start these side by side and wait until each has reported ready.

    When some do not come up nothing of these is left but their logs and records, and the error says of each
    why. Those that have come up by then stay.
    """
    begun: list[TeammateSpec] = []
    members = team.roster.load().names()
    try:
        for spec in specs:
            await begin(team, backend, spec)
            begun.append(spec)
        await _all_confirmed(team, backend, specs)
    except BaseException:
        for spec in begun:
            if is_starting(team, spec) or has_failed(team, spec):
                await undo(team, backend, spec, restarted=spec.name in members)
        raise


async def begin(team: Team, backend: Backend, spec: TeammateSpec) -> None:
    """Write down that this teammate starts, and start it; undone when that fails.

    One that is on the roster had a life before: it is restarted, without the orders that were for that life.
    Of several that start it at the same time one succeeds, the others are refused (agent_alive).
    """
    restarted = team.roster.load().find(spec.name) is not None
    if not team.agents.begin_life(starting_record(spec, team.clock.now())):
        raise BackendError(
            f"{spec.name} was not started: somebody else has just started it",
            code="agent_alive",
            details={"agent": spec.name},
        )
    try:
        _enter(team, spec, restarted=restarted)
        kind = "agent_restarted" if restarted else "agent_spawned"
        team.events.emit(kind, spec.name, run_id=spec.run_id, backend=spec.backend, model=spec.model)
        await backend.spawn(spec)
        _name_pane(team, spec)
    except BaseException:
        _write_off(team, spec, restarted=restarted)
        raise


def _enter(team: Team, spec: TeammateSpec, *, restarted: bool) -> None:
    """Put it on the roster as it is in this life."""
    entry = roster_member(team.name, spec, team.clock.now())
    if not restarted:
        team.roster.add_member(entry)
        return
    drop_orders(team, spec.name)
    team.roster.update_member(
        spec.name,
        backend_type=spec.backend,
        tmux_pane_id=entry.tmux_pane_id,
        model=spec.model,
        permission_mode=spec.permission_mode,
        rules=entry.rules,
        role=spec.role,
    )


def _name_pane(team: Team, spec: TeammateSpec) -> None:
    """Tell other readers of the roster in which pane of tmux it is, if it is in one."""
    record = team.agents.load(spec.name)
    pane = record.handle.get("pane") if record is not None and record.run_id == spec.run_id else None
    if isinstance(pane, str):
        team.roster.update_member(spec.name, tmux_pane_id=pane)


def is_starting(team: Team, spec: TeammateSpec) -> bool:
    """Whether this life has not reported yet."""
    record = team.agents.load(spec.name)
    return record is not None and record.run_id == spec.run_id and record.state == "starting"


def has_failed(team: Team, spec: TeammateSpec) -> bool:
    """Whether this life has ended by a fault before it could work."""
    record = team.agents.load(spec.name)
    if record is None or record.why is not None:
        return False
    return (record.run_id, record.reason) == (spec.run_id, "failed")


async def undo(team: Team, backend: Backend, spec: TeammateSpec, *, restarted: bool) -> None:
    """End a start that was not confirmed: process, spawn file, and its place on the roster if it is new."""
    with suppress(SwarmError):
        await backend.kill(timeout=team.settings.stop_timeout_seconds, names=[spec.name])
    _write_off(team, spec, restarted=restarted)


def _write_off(team: Team, spec: TeammateSpec, *, restarted: bool) -> None:
    """Write that this life never was one; an error in this would hide why."""
    with suppress(SwarmError):
        team.agents.end_life(spec.run_id, "failed")
        team.events.emit("agent_stopped", spec.name, run_id=spec.run_id, reason="failed")
        if not restarted:
            team.roster.remove_member(spec.name)


async def _all_confirmed(team: Team, backend: Backend, specs: Sequence[TeammateSpec]) -> None:
    """Wait for each, for as long as a start may take; after a failure only for what is left of that time."""
    failures: list[BackendError] = []
    deadline = 0.0
    for spec in specs:
        if not failures:
            deadline = time.monotonic() + team.settings.ready_timeout_seconds
        try:
            await _confirmed(team, backend, spec, deadline)
        except BackendError as error:
            failures.append(error)
    if failures:
        first = failures[0]
        raise BackendError("; ".join(map(str, failures)), code=first.code, details=first.details)


async def _confirmed(team: Team, backend: Backend, spec: TeammateSpec, deadline: float) -> None:
    while is_starting(team, spec):
        if not backend.is_alive(spec.name):
            why = await asyncio.to_thread(backend.failure, spec.name)
            raise _not_started(spec, why or "it ended before it was ready")
        if time.monotonic() > deadline:
            raise _not_started(spec, "it did not report ready in time")
        await asyncio.sleep(_LOOK_SECONDS)
    if has_failed(team, spec):
        raise _not_started(spec, last_words(team.layout.log(spec.name)) or "it failed")


def _not_started(spec: TeammateSpec, why: str) -> BackendError:
    return BackendError(f"{spec.name} did not start: {why}", code="not_started", details={"agent": spec.name})
