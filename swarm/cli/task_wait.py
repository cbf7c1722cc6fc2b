"""`swarm task wait`: until tasks are finished."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from swarm.cli.board import Board, Shown, list_object
from swarm.cli.dead_claims import free_dead
from swarm.cli.render import printable
from swarm.cli.session import Io, actor, the_team
from swarm.cli.task_text import print_list
from swarm.core.identity import LEADER
from swarm.core.task import Requires, name_tasks
from swarm.errors import EXIT_CODES, NotFoundError, StateError, SwarmError
from swarm.leader.evidence import why_gone
from swarm.storage.dead import is_due
from swarm.storage.watch import Watch

if TYPE_CHECKING:
    from swarm.core.table import TaskTable
    from swarm.storage.team import Team


def wait(args: Mapping[str, Any], io: Io) -> int:
    """Wait for the tasks named, or for all there are, also those that are added in the meantime.

    Ends as well when what is left waits for a task that failed or was cancelled, or for teammates that have
    all ended because their models could not be asked: that would be for ever.
    """
    team = the_team(args, io)
    with Watch([team.layout.journal]) as watch:
        if watch.problem is not None:
            io.note(f"Warning: {watch.problem}")
        waiter = _Waiter(team, actor(io), args["ids"], watch)
        tasks = waiter.run(args["timeout"])
    if io.json:
        io.print_json({"team": team.name, "tasks": [list_object(shown) for shown in tasks]})
    else:
        print_list(tasks, io, team.name)
    left = [shown.task.id for shown in tasks if not shown.task.finished]
    for task_id in left:
        if task_id in waiter.unserved:
            io.note(printable(f"task {task_id} cannot go on: {waiter.unserved[task_id]}"))
    held_up = [task_id for task_id in left if task_id not in waiter.unserved]
    if held_up:
        what = "it waits" if len(held_up) == 1 else "they wait"
        io.note(f"{name_tasks(held_up)} cannot go on: what {what} for was not completed")
    all_completed = all(shown.task.status == "completed" for shown in tasks)
    return 0 if all_completed else EXIT_CODES["task_failed"]


class _Waiter:
    """Looks at the folded journal when that has changed, and does what an idle teammate does meanwhile."""

    def __init__(self, team: Team, by: str, ids: tuple[str, ...], watch: Watch) -> None:
        self._team = team
        self._by = by
        self._store = team.tasks(by)
        self._ids = tuple(dict.fromkeys(ids))
        self._watch = watch
        self.unserved: dict[str, str] = {}

    def run(self, timeout: float | None) -> list[Shown]:
        """Return the tasks when nothing of them can change any more; `timed_out` when that takes too long.

        Raises:
            NotFoundError: a task that was named is not there, or is deleted meanwhile; or, when none was
                named, there is none at all (no_such_task).

        """
        clock, settings = self._team.clock, self._team.settings
        deadline = None if timeout is None else clock.monotonic() + timeout
        sweep = clock.monotonic() + settings.idle_sweep_seconds
        look = clock.monotonic()
        seen: tuple[int, int] | None = None
        tasks: list[Shown] = []
        going: list[str] = []
        while True:
            self._free_dead()
            mark = self._store.change_mark()
            if mark != seen:
                seen, (tasks, going) = mark, self._look()
            if not tasks:
                raise _no_tasks(self._team.name)
            if not going:
                return tasks
            now = clock.monotonic()
            pause = settings.idle_check_seconds if deadline is None else deadline - now
            if pause <= 0:
                raise _time_is_up(going)
            if now >= sweep:
                sweep = now + settings.idle_sweep_seconds
                self._sweep()
            if now >= look:
                look = now + settings.idle_check_seconds
                seen = seen if _unserved(self._team, self._store.table()) == self.unserved else None
            time.sleep(min(settings.idle_pause_seconds, pause))
            self._watch.wait(min(settings.idle_check_seconds, pause) - settings.idle_pause_seconds)

    def _look(self) -> tuple[list[Shown], list[str]]:
        """Return the tasks, and the numbers of those that may still go on."""
        table = self._store.table()
        if any(table.find(task_id) is None for task_id in self._ids):
            self._store.sweep()  # another hand may have added it
            table = self._store.table()
        board = Board(table.tasks())
        self.unserved = _unserved(self._team, table)
        tasks, stuck = self._chosen(table, board), board.stuck(self.unserved)
        return tasks, [s.task.id for s in tasks if not s.task.finished and s.task.id not in stuck]

    def _chosen(self, table: TaskTable, board: Board) -> list[Shown]:
        wanted = {table.get(task_id).id for task_id in self._ids}
        return [shown for shown in board.tasks if not wanted or shown.task.id in wanted]

    def _free_dead(self) -> None:
        if is_due(self._team):
            with suppress(StateError):  # somebody else may do it, or we the next time
                free_dead(self._team, self._by)

    def _sweep(self) -> None:
        with suppress(StateError):
            self._store.sweep()


def _unserved(team: Team, table: TaskTable) -> dict[str, str]:
    """Return the pending tasks, with why, for which all have ended as their models could not be asked."""
    gone = why_gone(team)
    found: dict[str, str] = {}
    if not gone:
        return found
    members = [member for member in team.roster.load().members if member.name != LEADER]
    for task in table.tasks():
        fits = (task.requires or Requires()).fits
        who = [member.name for member in members if fits(member.name, member.role)]
        if task.status == "pending" and who and gone.keys() >= set(who):
            found[task.id] = f"{who[0]} has ended: {gone[who[0]]}"
    return found


def _no_tasks(team: str) -> NotFoundError:
    """Nothing was done, which is not that all is done: whoever waits here may mean another team."""
    return NotFoundError(
        f"team {team} has no tasks to wait for; add one with swarm task add",
        code="no_such_task",
        details={"team": team},
    )


def _time_is_up(going: list[str]) -> SwarmError:
    return SwarmError(
        f"time is up, and {name_tasks(going)} {'is' if len(going) == 1 else 'are'} not finished",
        code="timed_out",
        details={"tasks": going},
    )
