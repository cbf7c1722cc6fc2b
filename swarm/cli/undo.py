"""`swarm undo`: the workspace goes back to where the run began."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from swarm.cli.columns import table
from swarm.cli.render import count, printable
from swarm.cli.session import Io, only_for_people, team_to_change
from swarm.core.identity import USER
from swarm.errors import StateError
from swarm.leader.ending import is_over
from swarm.leader.uncommitted import describe_loose, loose_files
from swarm.storage.layout import project_dir
from swarm.storage.lock import FileLock
from swarm.storage.syscalls import make_folders
from swarm.storage.team import Team
from swarm.workspace.git import GitWorkspace
from swarm.workspace.git_undo import GitUndo, UndoPlan

_SHORT = 12


def undo(args: Mapping[str, Any], io: Io) -> int:
    """Take the team's commits off the branch; with `--dry-run` only show them."""
    only_for_people(io, "undo a run")
    team = team_to_change(args, io)
    workspace = _workspace(team, io)
    _insist_that_nobody_works(team)
    folder = f"{project_dir(team.root, workspace)}/.locks"
    make_folders(folder)
    with FileLock(f"{folder}/workspace", team.settings, team.clock, USER):
        repository = GitUndo(workspace, io.environ, team.name)
        plan = repository.plan()
        _check(repository, plan, team, force=bool(args["force"]))
        does = bool(plan.commits) and not args["dry_run"]
        if does:
            repository.undo(plan)
        loose = loose_files(team)
    _show(team, workspace, plan, io, does=does, loose=loose)
    return 0


def _workspace(team: Team, io: Io) -> str:
    workspace = team.roster.load().workspace
    if workspace is None or not GitWorkspace(workspace, io.environ).is_repository():
        raise StateError(
            f"team {team.name} does not work in a git repository, so there is nothing to go back to",
            code="not_undoable",
            details={"path": workspace or ""},
        )
    return workspace


def _insist_that_nobody_works(team: Team) -> None:
    for record in team.agents.list_agents():
        if not is_over(record):
            raise StateError(
                f"{record.name} of team {team.name} is still there ({record.state}); "
                "stop the run, or swarm stop --all, first",
                code="agent_alive",
                details={"agent": record.name},
            )


def _check(repository: GitUndo, plan: UndoPlan, team: Team, *, force: bool) -> None:
    """Refuse where work of others would go, unless forced, and always where it would be lost."""
    if plan.others and not force:
        shown = ", ".join(one.commit[:_SHORT] for one in plan.others[:3])
        raise StateError(
            f"{count(len(plan.others), 'commit')} since the run of {team.name} began came from others "
            f"({shown}); --force takes them off the branch, too, and keeps them under {plan.kept}",
            code="not_undoable",
            details={"commits": [one.commit for one in plan.others]},
        )
    paths = repository.in_the_way(plan) if plan.commits else ()
    if paths:
        shown = ", ".join(map(printable, paths[:3])) + (f" and {len(paths) - 3} more" if paths[3:] else "")
        raise StateError(
            f"what is not committed would get lost ({shown}); commit it, or put it away with git stash",
            code="dirty_tree",
            details={"paths": list(paths)},
        )


def _show(team: Team, workspace: str, plan: UndoPlan, io: Io, *, does: bool, loose: Sequence[str]) -> None:
    if io.json:
        io.print_json(_object(team, workspace, plan, does=does) | {"not_committed": list(loose)})
        return
    _print(team, workspace, plan, io, does=does)
    if loose:
        io.print_line(f"{printable(describe_loose(loose))} (git status)", indent=2)


def _print(team: Team, workspace: str, plan: UndoPlan, io: Io, *, does: bool) -> None:
    if not plan.commits:
        io.print_line(f"nothing to undo: {workspace} is where the run of {team.name} began", indent=2)
        return
    verb = "went" if does else "would go"
    io.print(f"{count(len(plan.commits), 'commit')} {verb}, back to {plan.start[:_SHORT]}:")
    rows = [(one.commit[:_SHORT], one.subject, one.agent or "(of others)") for one in plan.commits]
    for line in table(rows, limit=io.columns and io.columns - 2, flexible=1):
        io.print(f"  {line}")
    if does:
        io.print_line(f"They are kept; git reset --keep {plan.kept} brings them back", indent=2)


def _object(team: Team, workspace: str, plan: UndoPlan, *, does: bool) -> dict[str, Any]:
    commits = []
    for one in plan.commits:
        known = {"commit": one.commit, "subject": one.subject, "agent": one.agent, "task": one.task}
        commits.append({key: value for key, value in known.items() if value is not None})
    shown: dict[str, Any] = {
        "team": team.name,
        "workspace": workspace,
        "start": plan.start,
        "head": plan.head,
    }
    shown |= {"commits": commits, "undone": does}
    return shown | ({"kept": plan.kept} if does else {})
