"""`swarm stop`, `pause` and `continue`: what a person orders teammates to do, and what became of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from swarm.cli.backends import cleaned_up
from swarm.cli.presence import Present, agent_object, look_at
from swarm.cli.session import Io, actor, only_for_people, team_to_change
from swarm.core.identity import LEADER
from swarm.core.roster import Roster
from swarm.errors import ConfigError, StateError
from swarm.leader.ending import end_agents, is_over
from swarm.leader.orders import order_pause, order_to_go_on, waiting_orders
from swarm.storage.team import Team

PAUSING = "pausing"
ORDERED = "ordered"
_POLL_SECONDS = 0.02
_WORDS = {
    "stopped": "has stopped",
    "killed": "did not stop by itself and was killed",
    "already_ended": "already ended",
    "paused": "is paused",
    PAUSING: "pauses when what it runs now has ended",
    "continued": "goes on",
    "not_paused": "had not paused, and goes on",
    ORDERED: "has not answered yet; the order waits in its mail",
}


def stop(args: Mapping[str, Any], io: Io) -> int:
    """End teammates; return when their processes are gone."""
    only_for_people(io, "stop teammates")
    team = team_to_change(args, io)
    names = _names(args, team.roster.load())
    timeout = args["timeout"] if args["timeout"] is not None else io.settings.stop_timeout_seconds
    with cleaned_up(team, io.environ, None if args["all"] else names):
        outcomes = end_agents(team, names, by=actor(io), timeout=timeout, force=bool(args["force"]))
    return _tell(team, outcomes, io, {"killed": "was killed"} if args["force"] else {})


def pause(args: Mapping[str, Any], io: Io) -> int:
    """Order teammates to pause, and see whether they do."""
    only_for_people(io, "pause teammates")
    team = team_to_change(args, io)
    return _tell(team, _order(args, team, order_pause, "paused"), io)


def go_on(args: Mapping[str, Any], io: Io) -> int:
    """Let teammates go on that were paused."""
    only_for_people(io, "let teammates go on")
    team = team_to_change(args, io)
    return _tell(team, _order(args, team, order_to_go_on, "continued"), io)


def _names(args: Mapping[str, Any], roster: Roster) -> tuple[str, ...]:
    """Return whom the command means; a name that is not on the roster is an error before anything is done."""
    given, every = tuple(dict.fromkeys(args["names"])), bool(args["all"])
    if bool(given) == every:
        what = "give either names or --all" if every else "whom? give names, or --all"
        raise ConfigError(what, code="bad_usage", details={"option": "--all"})
    if LEADER in given:
        raise ConfigError(
            f"{LEADER} leads the run and is no teammate; it ends by Ctrl-C where it runs",
            code="bad_value",
            details={"value": LEADER},
        )
    return tuple(roster.member(name).name for name in given) or tuple(
        name for name in roster.names() if name != LEADER
    )


def _order(
    args: Mapping[str, Any], team: Team, order: Callable[[Team, str], None], outcome: str
) -> dict[str, str]:
    """Give the order to all of them, then wait a moment for each to take it."""
    names = _names(args, team.roster.load())
    if args["all"]:
        names = tuple(name for name in names if not _is_gone(team, name))
    for name in names:
        _insist_on_life(team, name)
    paused = {name: _present(team, name).state == "paused" for name in names}
    for name in names:
        order(team, name)
    deadline = time.monotonic() + team.settings.order_wait_seconds
    outcomes = {name: _until_taken(team, name, outcome, deadline) for name in names}
    if outcome == "continued":
        outcomes |= {name: "not_paused" for name in names if not paused[name] and outcomes[name] == outcome}
    return outcomes


def _until_taken(team: Team, name: str, outcome: str, deadline: float) -> str:
    while waiting_orders(team, name):
        if time.monotonic() >= deadline:
            return ORDERED
        time.sleep(_POLL_SECONDS)
    if outcome == "continued":
        return outcome
    while (state := _present(team, name).state) != "paused":
        if time.monotonic() >= deadline or state == "working":
            return PAUSING
        time.sleep(_POLL_SECONDS)
    return outcome


def _insist_on_life(team: Team, name: str) -> None:
    if _is_gone(team, name):
        state = _present(team, name).state
        how = "was never started" if team.agents.load(name) is None else f"is not running ({state})"
        raise StateError(
            f"{name} {how}; swarm spawn {name} starts it",
            code="not_running",
            details={"agent": name, "state": state},
        )


def _is_gone(team: Team, name: str) -> bool:
    record = team.agents.load(name)
    return record is None or is_over(record)


def _present(team: Team, name: str) -> Present:
    return look_at(team, team.roster.load().member(name))


def _tell(team: Team, outcomes: Mapping[str, str], io: Io, words: Mapping[str, str] | None = None) -> int:
    said = {**_WORDS, **(words or {})}
    if io.json:
        agents = [agent_object(_present(team, name)) | {"outcome": outcomes[name]} for name in outcomes]
        io.print_json({"team": team.name, "agents": agents})
        return 0
    for name, outcome in outcomes.items():
        io.print(f"{name} {said[outcome]}")
    if not outcomes:
        io.note("nobody is there")
    return 0
