"""`swarm task add|edit`: what a task says, who is to do it and what it waits for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from swarm.cli.render import printable
from swarm.cli.session import Io, actor, only_for_people, team_to_change
from swarm.cli.task import print_changed
from swarm.core.changes import check_commands
from swarm.core.nearest import some_of
from swarm.core.task import NewTask, Requires
from swarm.errors import ConfigError

if TYPE_CHECKING:
    from swarm.core.roster import Roster
    from swarm.core.task import Task
    from swarm.storage.tasks import TaskStore


def add(args: Mapping[str, Any], io: Io) -> int:
    """Create one task."""
    if args["verify"]:
        only_for_people(io, "say what verifies a task")
    team = team_to_change(args, io)
    store = team.tasks(actor(io))
    new = NewTask(
        subject=args["subject"],
        description=args["description"] or "",
        blocked_by=args["blocked_by"],
        requires=_requires(team.roster.load(), args["owner"]),
        verify=args["verify"],
    )
    (task,) = store.create(new)
    print_changed(task, store, io, f"task {task.id} added: {printable(task.subject)}")
    return 0


def edit(args: Mapping[str, Any], io: Io) -> int:
    """Change one task: links first, since they are what can be refused."""
    team = team_to_change(args, io)
    store = team.tasks(actor(io))
    fields = {key: args[key] for key in ("subject", "description") if args[key] is not None}
    if args["verify"]:
        only_for_people(io, "change what verifies a task")
        check_commands(args["verify"])
    ours: dict[str, Any] = {"verify": list(args["verify"])} if args["verify"] else {}
    if args["owner"] is not None:
        ours["requires"] = _requires(team.roster.load(), args["owner"])
    links = args["add_blocked_by"] or args["remove_blocked_by"]
    if not (fields or ours or links):
        raise ConfigError("nothing to change; see swarm task edit --help", code="bad_usage")
    task = _relinked(store, args)
    if fields or ours:
        task = store.edit(task.id, fields, ours)
    print_changed(task, store, io, f"task {task.id} edited")
    return 0


def _relinked(store: TaskStore, args: Mapping[str, Any]) -> Task:
    task = store.get_task(args["id"])
    for blocker in args["remove_blocked_by"]:
        _check_waits(task, blocker)
        task = store.unlink(blocker, task.id)
    for blocker in args["add_blocked_by"]:
        task = store.link(blocker, task.id)
    return task


def _check_waits(task: Task, blocker: str) -> None:
    if blocker not in task.blocked_by:
        known = ", ".join(task.blocked_by) or "nothing"
        raise ConfigError(
            f"task {task.id} does not wait for {blocker}; it waits for {known}",
            code="unknown_reference",
            details={"value": blocker, "valid": list(task.blocked_by)},
        )


def _requires(roster: Roster, owner: str | None) -> Requires | None:
    """Return who alone may claim: a member of this name, or any of this role (unknown_reference)."""
    if not owner:
        return None
    if roster.find(owner):
        return Requires(agent=owner)
    if owner in roster.roles():
        return Requires(role=owner)
    valid = [*roster.names(), *roster.roles()]
    raise ConfigError(
        f"nobody in team {roster.name} is called {owner!r}; it has {some_of(valid, owner)}",
        code="unknown_reference",
        details={"value": owner, "valid": valid},
    )
