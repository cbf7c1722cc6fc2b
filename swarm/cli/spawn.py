"""`swarm spawn` and `swarm restart`: one teammate, started by hand, that outlives the command."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from typing import Any

from swarm.backends.asked import what_is_asked
from swarm.backends.leftovers import close_leftovers
from swarm.backends.select import FOR_ONE, IN_PROCESS, select_backend
from swarm.cli.backends import cleaned_up, make_backend
from swarm.cli.given_rules import given_rules, settings_policy
from swarm.cli.presence import agent_object, look_at, start_is_overdue
from swarm.cli.session import Io, actor, only_for_people, team_to_change
from swarm.cli.team_file import read_team_file
from swarm.core.agent import AgentRecord
from swarm.core.identity import LEADER, USER, check_name
from swarm.core.message import Message
from swarm.core.roster import SPAWN_COMMAND
from swarm.core.spawn import TeammateSpec
from swarm.core.times import format_time
from swarm.errors import ConfigError, StateError
from swarm.leader.ending import end_agents, is_over
from swarm.leader.enlisting import Wish, asked_mode, make_spec
from swarm.leader.inheritance import mode_of_leader, notes_on_modes
from swarm.leader.spawning import start_teammates, turn
from swarm.permissions.modes import check_mode
from swarm.storage.leadership import leader_state
from swarm.storage.processes import new_msg_id
from swarm.storage.team import Team


def spawn(args: Mapping[str, Any], io: Io) -> int:
    """Start a teammate and return when it is ready; nothing is left of one that does not come up."""
    only_for_people(io, "start teammates")
    team = team_to_change(args, io)
    only_for_people(io, "start teammates", team)
    name = check_name(args["name"])
    with turn(team, name):
        with cleaned_up(team, io.environ, [name]):
            _insist_that_it_is_over(team, name)
            end_agents(team, [name], by=actor(io), timeout=0.0, force=True)  # what its last life left
        _start(team, name, args, io)
    return 0


def restart(args: Mapping[str, Any], io: Io) -> int:
    """End a teammate if it is there, and start its next life."""
    only_for_people(io, "restart teammates")
    team = team_to_change(args, io)
    only_for_people(io, "restart teammates", team)
    name = team.roster.load().member(args["name"]).name
    if name == LEADER:
        raise ConfigError(
            f"{LEADER} leads the run; swarm resume {team.name} takes up a run that lost it",
            code="bad_value",
            details={"value": name},
        )
    timeout = args["timeout"] if args["timeout"] is not None else io.settings.stop_timeout_seconds
    with turn(team, name):
        before = team.agents.load(name)
        deaf = before is not None and _is_abandoned(team, before)  # nobody is there to be asked
        with cleaned_up(team, io.environ, [name]):
            end_agents(team, [name], by=actor(io), timeout=timeout, force=bool(args["force"]) or deaf)
        _start(team, name, args, io)
    return 0


def _insist_that_it_is_over(team: Team, name: str) -> None:
    record = team.agents.load(name)
    if record is None or is_over(record) or _is_abandoned(team, record):
        return
    what = "is being started now; wait for it"
    if record.pid is not None:
        what = f"is running already ({record.state}); tell it something with swarm send {name}"
    raise StateError(
        f"{name} {what}, or start it anew with swarm restart {name}",
        code="agent_alive",
        details={"agent": name, "state": record.state},
    )


def _is_abandoned(team: Team, record: AgentRecord) -> bool:
    """Whether who began this start is gone: we have its turn now, so it can only be a leader.

    A leader that lives may be at it; after the time that a start may take it is not.
    """
    if record.pid is not None or record.state != "starting":
        return False
    return leader_state(team) != "alive" or start_is_overdue(team, record)


def _start(team: Team, name: str, args: Mapping[str, Any], io: Io) -> None:
    backend, reason = _backend(team, name, args["backend"], io)
    path = team.layout.team_file
    file = read_team_file(path) if os.path.exists(path) else None
    settings = settings_policy(args, io, team.roster.load().workspace)
    mode = args["permission_mode"]
    wish = Wish(
        backend=backend,
        model=args["model"],
        permission_mode=None if mode is None else check_mode(mode),
        role=args.get("agent_type"),
        rules=given_rules(args, SPAWN_COMMAND),
    )
    spec = make_spec(team, name, wish, dict(io.environ), file, settings)
    _say_what_is_inherited(team, spec, asked_mode(team.roster.load(), name, wish, file, settings), io)
    team.costs.check_price(spec.model)
    _check_model(spec)
    io.note(f"Backend {backend}: {reason}")
    told = _tell(team, name, args.get("prompt"))
    try:
        asyncio.run(start_teammates(team, make_backend(backend, team, io.environ), [spec]))
    except BaseException:
        if told is not None:
            team.inbox(name).acknowledge([told])
        close_leftovers(team, io.environ, [name])
        raise
    _show(team, name, io)


def _say_what_is_inherited(team: Team, spec: TeammateSpec, asked: str, io: Io) -> None:
    for note in notes_on_modes({spec.name: asked}, mode_of_leader(team.roster.load())):
        io.note(note)


def _backend(team: Team, name: str, given: str | None, io: Io) -> tuple[str, str]:
    """Return where it is to run: as the option says, as it did before, as is usual here, or best."""
    if given == IN_PROCESS:
        raise ConfigError(
            "a teammate that is started by hand has a process of its own; use --backend tmux or process",
            code="bad_value",
            details={"option": "--backend", "value": given, "valid": ["auto", *FOR_ONE]},
        )
    before = team.agents.load(name)
    if not given and before is not None and before.backend != IN_PROCESS:
        return select_backend(before.backend, io.environ, FOR_ONE)[0], "where it ran before"
    asked = what_is_asked(given, io.environ, io.root, team.roster.load().workspace)
    if asked.backend == IN_PROCESS:  # as the usual for runs, of which this is none
        asked = asked.replace(backend="auto")
    return select_backend(asked.backend, io.environ, FOR_ONE, by=asked.by)


def _check_model(spec: TeammateSpec) -> None:
    from worker.model.choose import check_model

    check_model(spec.model, spec.environ)


def _tell(team: Team, name: str, text: str | None) -> str | None:
    """Put the first message into its inbox before it looks there; return the message's id."""
    if text is None:
        return None
    if not text.strip():
        raise ConfigError("the prompt is blank", code="bad_value", details={"option": "--prompt"})
    at, msg_id = format_time(team.clock.now()), new_msg_id()
    message = Message(sender=USER, to=name, text=text, timestamp=at, msg_id=msg_id)
    team.inbox(name).deliver(message, retry=False)
    team.events.emit("mail_sent", USER, to=name, msg_id=msg_id)
    return msg_id


def _show(team: Team, name: str, io: Io) -> None:
    present = look_at(team, team.roster.load().member(name))
    if io.json:
        io.print_json(agent_object(present))
        return
    record = present.record
    where = f" ({record.backend}, pid {record.pid})" if record is not None else ""
    io.print(f"{name} is {present.state}{where}")
