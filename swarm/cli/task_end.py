"""`swarm task fail|release|cancel|retry|delete`: how a task ends, or begins again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from swarm.cli.board import task_object
from swarm.cli.session import Io, actor, claimer, team_to_change
from swarm.cli.task import print_changed, shown_alone, token_for
from swarm.core import operations
from swarm.core.task import Task, name_tasks
from swarm.errors import ConfigError
from swarm.storage import assignments
from swarm.storage.team import Team

_End = Callable[[Team, str, str, str, str], Task]


def fail(args: Mapping[str, Any], io: Io) -> int:
    """End a claimed task as failed."""
    outcome = "is failed; swarm task retry makes it pending again"
    return _end_claim(args, io, lambda team, by, *claim: team.tasks(by).fail(*claim), outcome)


def release(args: Mapping[str, Any], io: Io) -> int:
    """Give a claimed task back."""
    return _end_claim(args, io, assignments.release, "is pending again")


def _end_claim(args: Mapping[str, Any], io: Io, end: _End, outcome: str) -> int:
    name = claimer(args, io)
    team = team_to_change(args, io)
    store = team.tasks(name)
    task = store.get_task(args["id"])
    token = token_for(task, name, args["token"])
    ended = end(team, name, task.id, token, args["reason"] or f"{name} did not say why")
    print_changed(ended, store, io, f"task {ended.id} {outcome}")
    return 0


def cancel(args: Mapping[str, Any], io: Io) -> int:
    """Take a task off the plan; whoever is on it finds its token stale."""
    by = actor(io)
    store = team_to_change(args, io).tasks(by)
    task = store.cancel(args["id"], args["reason"] or f"cancelled by {by}")
    print_changed(task, store, io, f"task {task.id} is cancelled")
    if task.blocks:
        go = "goes on waiting for it: edit or cancel that"
        if len(task.blocks) > 1:
            go = "go on waiting for it: edit or cancel those"
        io.note(f"{name_tasks(task.blocks)} {go} as well")
    return 0


def retry(args: Mapping[str, Any], io: Io) -> int:
    """Make failed or cancelled tasks pending again: all of those that are named, or none."""
    ids = tuple(dict.fromkeys(args["ids"]))
    if not ids:
        raise ConfigError("which task? give its number; swarm task list shows them", code="bad_usage")
    team, by = team_to_change(args, io), actor(io)
    store = team.tasks(by)
    for task_id in ids:
        operations.retry(store.table(), store.get_task(task_id).id)
    tasks = [assignments.retry(team, by, task_id) for task_id in ids]
    if io.json and len(tasks) > 1:
        shown = [task_object(shown_alone(task, store)) for task in tasks]
        io.print_json({"team": team.name, "tasks": shown})
        return 0
    for task in tasks:
        print_changed(task, store, io, f"task {task.id} is pending again")
    return 0


def delete(args: Mapping[str, Any], io: Io) -> int:
    """Delete a task; with `--json` its last state is printed."""
    store = team_to_change(args, io).tasks(actor(io))
    last = shown_alone(store.get_task(args["id"]), store)
    store.delete(last.task.id)
    if io.json:
        io.print_json(task_object(last))
    else:
        io.print(f"task {last.task.id} is deleted")
    return 0
