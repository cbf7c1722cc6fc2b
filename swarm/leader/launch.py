"""What happens before the first teammate starts: checks, the team's folders, its tasks.

Everything that can be refused is refused before anything is written.
"""

from __future__ import annotations

import os
import shutil

from swarm.core.identity import LEADER, USER, check_name
from swarm.core.price import parse_prices
from swarm.errors import ConfigError, StateError
from swarm.leader.inheritance import mode_of_leader
from swarm.leader.occupied import refuse_busy_workspace, refuse_occupied
from swarm.leader.options import RunOptions
from swarm.leader.signals import held_back
from swarm.permissions.modes import DEFAULT_MODE
from swarm.pricing import no_price, price_of
from swarm.settings import Settings
from swarm.storage.clock import SystemClock
from swarm.storage.files import encode
from swarm.storage.team import Team, create_team, delete_team
from swarm.teamfile.budget import terms_of
from swarm.teamfile.reader import LoadedTeamFile, dump_for_team, members, new_tasks, own_files
from swarm.teamfile.rules import with_rules
from swarm.workspace.git import GitWorkspace


def prepare(loaded: LoadedTeamFile, options: RunOptions, settings: Settings) -> Team:
    """Create the team of this team file with all its tasks, nothing started yet."""
    name = check_name(options.name or loaded.team.name, what="team")
    workspace = os.path.realpath(loaded.workspace)
    mode = mode_to_lead_with(loaded, options)
    options.settings.check(mode)
    _check_size(loaded, options, settings)
    refuse_occupied(options.root, name, workspace, settings)
    repository = GitWorkspace(workspace)
    _check_git(repository, workspace)
    if repository.is_repository() and not options.allow_dirty:
        _check_clean(repository, workspace, loaded)
    made: list[Team] = []
    try:
        with held_back():
            made.append(_create(loaded, options, settings, name, workspace))
            made[0].roster.update_member(LEADER, permission_mode=mode)
        if repository.is_repository():
            repository.keep_ref(name)
        made[0].costs.set_terms(terms_of(loaded.team))
        _create_tasks(made[0], loaded)
    except BaseException:
        for team in made:
            team.close()
            delete_team(options.root, name, force=True, settings=settings, clock=SystemClock())
        raise
    return made[0]


def _create(
    loaded: LoadedTeamFile, options: RunOptions, settings: Settings, name: str, workspace: str
) -> Team:
    return create_team(
        options.root,
        name,
        description=loaded.team.description,
        workspace=workspace,
        isolation=loaded.team.isolation,
        settings=settings,
        clock=SystemClock(),
        team_file=encode(dump_for_team(with_rules(loaded, options.rules))),
    )


def mode_to_lead_with(loaded: LoadedTeamFile, options: RunOptions, team: Team | None = None) -> str:
    """Return the mode of a run: the person's word, else as it was, as the file says, as is usual."""
    before = mode_of_leader(team.roster.load()) if team is not None else None
    in_file = loaded.team.permissions.mode
    return options.permission_mode or before or in_file or options.settings.mode or DEFAULT_MODE


def prepare_again(team: Team, loaded: LoadedTeamFile, options: RunOptions, settings: Settings) -> None:
    """Check what has to hold where a run is taken up; its tasks and its first commit are as they were."""
    workspace = os.path.realpath(loaded.workspace)
    options.settings.check(mode_to_lead_with(loaded, options, team))
    _check_size(loaded, options, settings)
    _check_prices(team, loaded)
    refuse_busy_workspace(options.root, workspace, settings, besides=team.name)
    repository = GitWorkspace(workspace)
    _check_git(repository, workspace)
    if repository.is_repository():
        repository.keep_ref(team.name, replace=False)


def add_missing_tasks(team: Team, loaded: LoadedTeamFile) -> None:
    """Create the tasks that a run lacks which was killed before it began; for its one leader to do."""
    if not any(event.event == "run_started" for _, event in team.events.read()):
        _create_tasks(team, loaded)


def _check_size(loaded: LoadedTeamFile, options: RunOptions, settings: Settings) -> None:
    count, limit = len(members(loaded.team)), settings.in_process_teammates_max
    if options.backend == "in-process" and count > limit:
        raise ConfigError(
            f"{loaded.team.name} has {count} teammates, but at most {limit} fit into one process; "
            "use --backend process",
            code="bad_value",
            details={"value": count, "limit": limit},
        )


def _check_prices(team: Team, loaded: LoadedTeamFile) -> None:
    """Refuse a budget where a teammate was started beside the file with a model that has no known price."""
    prices = parse_prices(terms_of(loaded.team).get("prices", {}))
    for member in team.roster.load().members if loaded.team.budget is not None else ():
        if member.model and price_of(member.model, prices) is None:
            raise no_price(member.model)


def _check_git(repository: GitWorkspace, workspace: str) -> None:
    """Refuse a repository that no work could be committed to."""
    if shutil.which("git") is None and repository.has_git_files():
        raise ConfigError(
            f"{workspace} is a git repository, but git is not on PATH; work could not be committed",
            code="bad_value",
            details={"path": workspace},
        )


def _check_clean(repository: GitWorkspace, workspace: str, loaded: LoadedTeamFile) -> None:
    """Refuse a workspace with changes of a person; the team file itself, and its schema, may be new."""
    own = {os.path.realpath(path) for path in own_files(loaded)}
    dirty = [path for path in repository.dirty_paths() if os.path.join(workspace, path) not in own]
    if dirty:
        shown = ", ".join(dirty[:3]) + (f" and {len(dirty) - 3} more" if dirty[3:] else "")
        raise StateError(
            f"the workspace has uncommitted changes ({shown}); commit them, or run with --allow-dirty",
            code="dirty_tree",
            details={"paths": list(dirty)},
        )


def _create_tasks(team: Team, loaded: LoadedTeamFile) -> None:
    store = team.tasks(USER)
    ids = {task.key: task.id for task in store.list_tasks() if task.key is not None}
    for new in new_tasks(loaded.team):
        if new.key in ids:
            continue
        blockers = tuple(ids[key] for key in new.blocked_by)
        (task,) = store.create(new.replace(blocked_by=blockers))
        ids[str(new.key)] = task.id
