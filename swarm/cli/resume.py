"""`swarm resume`: a run is taken up where it stopped."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from swarm.backends.asked import what_is_asked
from swarm.backends.select import select_backend
from swarm.cli.backends import cleaned_up
from swarm.cli.given_rules import given_rules, settings_policy
from swarm.cli.run import check_models, drive
from swarm.cli.session import Io, only_for_people, team_to_change
from swarm.cli.team import resumable_teams
from swarm.cli.team_file import read_team_file
from swarm.core.money import usd_of
from swarm.core.nearest import some_of
from swarm.errors import ConfigError, StateError
from swarm.leader.earlier import backend_before, take_up
from swarm.leader.inheritance import COMMAND_LINE
from swarm.leader.launch import add_missing_tasks, prepare_again
from swarm.leader.options import RunOptions
from swarm.leader.questions import add_rules
from swarm.storage import syscalls
from swarm.storage.team import Team
from swarm.teamfile.budget import terms_of


def resume(args: Mapping[str, Any], io: Io) -> int:
    """Lead a team that was led before, to the end; return the exit code of its outcome."""
    only_for_people(io, "resume a run")
    team = _team(args if args["name"] is None else {**args, "team": args["name"]}, io)
    only_for_people(io, "resume a run", team)
    path = team.layout.team_file
    if not os.path.exists(path):
        raise StateError(
            f"team {team.name} was not made by swarm run, so there is no run to take up; "
            "swarm spawn NAME starts a teammate",
            code="nothing_ready",
            details={"path": path},
        )
    loaded = read_team_file(path, budget=_budget(team, args["budget"]))
    check_models(loaded, io)
    _refuse_other_mode(team, args)
    rules = given_rules(args, COMMAND_LINE)
    team.permissions.load_rules()  # which have to be readable before the run is taken up
    backend, reason = _backend(team, args["backend"], io)
    options = RunOptions(
        root=io.root,
        environ=dict(io.environ),
        name=team.name,
        backend=backend,
        backend_reason=reason,
        settings=settings_policy(args, io, loaded.workspace),
        timeout_seconds=args["timeout"],
        headless=args["headless"],
    )
    prepare_again(team, loaded, options, io.settings)
    log = syscalls.find_stat(team.layout.events)
    with cleaned_up(team, io.environ, None):
        earlier = take_up(team, backend)
    if rules is not None:
        add_rules(team, rules)
    team.costs.set_terms(terms_of(loaded.team))
    add_missing_tasks(team, loaded)
    return drive(team, loaded, options, io, earlier, since=log.st_size if log is not None else 0)


def _team(args: Mapping[str, Any], io: Io) -> Team:
    """Open the team; of several, none of which is named, say whose run can be taken up."""
    try:
        return team_to_change(args, io)
    except ConfigError as error:
        if error.code != "team_needed" or not error.details.get("valid"):
            raise
    names = resumable_teams(io)
    said = f"which run? swarm resume NAME; {some_of(names)} can be taken up"
    if not names:
        said = "no run of these teams can be taken up: each is led, is over, or was not made by swarm run"
    raise ConfigError(said, code="team_needed", details={"valid": names})


def _refuse_other_mode(team: Team, args: Mapping[str, Any]) -> None:
    """Refuse what would not reach those teammates that live; only `swarm run --resume` has this option."""
    if args.get("permission_mode"):
        raise ConfigError(
            f"the run of team {team.name} is taken up with the mode that it had; leave --permission-mode "
            "out, or give the run another name",
            code="bad_usage",
            details={"option": "--permission-mode"},
        )


def _budget(team: Team, given: float | None) -> float | None:
    """Return what the option says, else what holds so far; None leaves it to the team file."""
    limit = team.costs.table().limit
    return usd_of(limit) if given is None and limit is not None else given


def _backend(team: Team, given: str | None, io: Io) -> tuple[str, str]:
    """Return where teammates are to run: where they did, so that those that live can be taken over."""
    before = backend_before(team)
    if given is None and before is not None:
        return select_backend(before, io.environ)[0], "where it ran before"
    asked = what_is_asked(given, io.environ, io.root, team.roster.load().workspace)
    return select_backend(asked.backend, io.environ, by=asked.by)
