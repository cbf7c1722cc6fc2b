"""`swarm task wait`: until tasks are finished."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from swarm.cli.board import Board, Shown, list_object
from swarm.cli.session import Io, actor, the_team
from swarm.cli.task import shown_alone
from swarm.cli.task_text import print_list
from swarm.errors import EXIT_CODES, SwarmError

if TYPE_CHECKING:
    from swarm.storage.tasks import TaskStore
    from swarm.storage.team import Team


def wait(args: Mapping[str, Any], io: Io) -> int:
    """Wait for the tasks named, or for all there are, also those that are added in the meantime.

    Ends as well when what is left waits for a task that failed or was cancelled: that would be for ever.
    """
    team = the_team(args, io)
    store = team.tasks(actor(io))
    tasks = _ended(team, store, args["ids"], args["timeout"])
    if io.json:
        io.print_json({"team": team.name, "tasks": [list_object(shown) for shown in tasks]})
    else:
        print_list(tasks, io, team.name)
    held_up = [shown.task.id for shown in tasks if not shown.task.finished]
    if held_up:
        io.note(f"task {', '.join(held_up)} cannot go on: what it waits for was not completed")
    all_completed = all(shown.task.status == "completed" for shown in tasks)
    return 0 if all_completed else EXIT_CODES["task_failed"]


def _ended(team: Team, store: TaskStore, ids: tuple[str, ...], timeout: float | None) -> list[Shown]:
    """Look each second until nothing can change any more; `timed_out` when that takes too long."""
    deadline = None if timeout is None else team.clock.monotonic() + timeout
    while True:
        board = Board(store.list_tasks())
        tasks, stuck = _chosen(board, store, ids), board.stuck()
        going = [s.task.id for s in tasks if not s.task.finished and s.task.id not in stuck]
        if not going:
            return tasks
        pause = team.settings.idle_check_seconds
        if deadline is not None:
            pause = min(pause, deadline - team.clock.monotonic())
        if pause <= 0:
            raise SwarmError(
                f"time is up, and task {', '.join(going)} is not finished",
                code="timed_out",
                details={"tasks": going},
            )
        time.sleep(pause)


def _chosen(board: Board, store: TaskStore, ids: tuple[str, ...]) -> list[Shown]:
    if not ids:
        return list(board.tasks)
    known = {shown.task.id: shown for shown in board.tasks}
    return [known.get(i) or shown_alone(store.get_task(i), store) for i in dict.fromkeys(ids)]
