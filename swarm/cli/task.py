"""`swarm task list|show|claim|complete`: the task verbs that agents and scripts call all the time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from swarm.cli.board import Shown, list_object, task_object, the_board, with_problems
from swarm.cli.dead_claims import free_dead, note_dead
from swarm.cli.render import printable
from swarm.cli.session import Io, actor, claimer, is_life_of, only_for_people, team_to_change, the_team
from swarm.core.identity import make_run_id
from swarm.core.operations import Refusal
from swarm.core.task import Task, TaskResult
from swarm.errors import ConfigError, NotFoundError, TaskError

if TYPE_CHECKING:
    from swarm.storage.tasks import TaskStore


def list_all(args: Mapping[str, Any], io: Io) -> int:
    """Print all tasks, or those that the filter lets through."""
    if sum(map(bool, (args["ready"], args["blocked"], args["status"]))) > 1:
        raise ConfigError("give one of --ready, --blocked and --status", code="bad_usage")
    team = the_team(args, io)
    board = the_board(team, io)
    chosen = [shown for shown in board.tasks if _is_wanted(shown, args)]
    if io.json:
        listed = {"team": team.name, "tasks": [list_object(shown) for shown in chosen]}
        io.print_json(with_problems(listed, board))
    else:
        from swarm.cli.task_text import print_list

        print_list(chosen, io, team.name)
    loop = board.find_loop()
    if loop:
        io.note(f"tasks {' -> '.join(loop)} wait for each other: remove one link with swarm task edit")
    note_dead((shown.task for shown in chosen), team, io)
    return 0


def show(args: Mapping[str, Any], io: Io) -> int:
    """Print one task."""
    team = the_team(args, io)
    store = team.tasks(actor(io))
    task = store.get_task(args["id"])
    print_task(task, store, io)
    note_dead((task,), team, io)
    return 0


def claim(args: Mapping[str, Any], io: Io) -> int:
    """Take a task in the name of an agent; a lost claim is an error with the reason."""
    name = claimer(args, io)
    team = team_to_change(args, io)
    store = team.tasks(name)
    roster = team.roster.load()
    roster.check_spelling(name)
    free_dead(team, name)
    got = store.claim(name, roster.role_of(name), _run_id(name, io), args["id"])
    if isinstance(got, Refusal):
        raise TaskError(got.message, code=got.code, details=dict(got.details))
    token = got.claim.token if got.claim else ""
    if io.json:
        io.print_json(task_object(shown_alone(got, store)) | {"token": token})
    else:
        io.print(f"task {got.id} is {name}'s now (token {token}): {printable(got.subject)}")
    return 0


def complete(args: Mapping[str, Any], io: Io) -> int:
    """Finish a task; its verify commands run first, and one that fails leaves the task as it is."""
    if args["unverified"]:
        only_for_people(io, "complete a task unverified")
    name = claimer(args, io)
    team = team_to_change(args, io)
    store = team.tasks(name)
    task = store.get_task(args["id"])
    token = token_for(task, name, args["token"])
    if task.status == "in_progress" and task.verify and not args["unverified"]:
        from swarm.cli.verify import run_verify

        run_verify(team, task, name, io)
    skipped = ("verify",) if task.verify and args["unverified"] else ()
    done = store.complete(task.id, token, TaskResult(summary=args["result"] or "", not_checked=skipped))
    print_changed(done, store, io, f"task {done.id} is completed{'' if not skipped else ', not verified'}")
    return 0


def token_for(task: Task, name: str, given: str | None) -> str:
    """Return the token to present: the one given, else the live claim's if it is this agent's (not_owner)."""
    if given is not None:
        return given
    if task.claim is None or task.owner != name:
        holder = f"{task.owner} has it" if task.claim and task.owner else "nobody has claimed it"
        raise TaskError(
            f"task {task.id} is not {name}'s: {holder}",
            code="not_owner",
            details={"task": task.id, "owner": task.owner},
        )
    return task.claim.token


def shown_alone(task: Task, store: TaskStore) -> Shown:
    """Return a task with what follows from its blockers, reading no other task."""

    def status_of(task_id: str) -> str | None:
        try:
            return store.get_task(task_id).status
        except NotFoundError:
            return None

    return Shown(task, status_of)


def print_task(task: Task, store: TaskStore, io: Io) -> None:
    """Print all of a task."""
    shown = shown_alone(task, store)
    if io.json:
        io.print_json(task_object(shown))
        return
    from swarm.cli.task_text import print_page

    print_page(shown, io)


def print_changed(task: Task, store: TaskStore, io: Io, sentence: str) -> None:
    """Say in one sentence what became of a task, or print it as one object."""
    if io.json:
        io.print_json(task_object(shown_alone(task, store)))
    else:
        io.print(sentence)


def _is_wanted(shown: Shown, args: Mapping[str, Any]) -> bool:
    if args["ready"]:
        return shown.ready
    if args["blocked"]:
        return shown.task.status == "pending" and not shown.ready
    return args["status"] in {None, shown.task.status}


def _run_id(name: str, io: Io) -> str:
    """Return the life that claims: the worker's whose child this command is, else one that is never freed."""
    own = io.environ.get("SWARM_RUN_ID", "")
    if io.environ.get("SWARM_AGENT") and is_life_of(own, name):
        return own
    from swarm.storage.processes import new_run

    return make_run_id(new_run(), name, "cli")
