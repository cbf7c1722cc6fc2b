"""A journal that another hand has cut, or emptied, while the machine ran: nothing is taken for granted.

The mark says which lines there were. What the task files know of them is taken over, and no number of theirs
is given out again.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from swarm.core.journal import parse_line
from swarm.core.task import NewTask, Task
from swarm.errors import CorruptStateError, StateError
from swarm.storage.mark import find_mark, write_mark
from swarm.storage.syscalls import fault_hook
from swarm.storage.tasks import TaskStore
from swarm.storage.team import Team
from tests.support.faults import FailAt, Recorder
from tests.support.stores import OPERATIONS, RESULT, RUN_OF, claim_task, copied, prepare, reopened

LINES = 13


def seqs(team: Team) -> list[int]:
    """Return the numbers of the operations in the journal."""
    lines = [parse_line(raw) for raw in Path(team.layout.journal).read_bytes().splitlines()]
    return [line["seq"] for line in lines if line["op"] != "head" and "seq" in line]


def worked(team: Team) -> None:
    """Let a prepared team, whose journal has 6 lines or more, do of everything a little."""
    store = team.tasks("user")
    for name in ("complete", "edit", "link"):
        OPERATIONS[name](team)
    store.create(NewTask(subject="late", blocked_by=("3",)))
    store.release("3", token(claim_task(team, "w1", "3")), "asked to")
    claim_task(team, "w1", "3")


def token(task: Task) -> str:
    assert task.claim is not None
    return task.claim.token


def cut(team: Team, kept: int) -> None:
    """Keep so many lines, in the same file."""
    path = Path(team.layout.journal)
    lines = path.read_bytes().splitlines(keepends=True)
    assert len(lines) == LINES
    with path.open("r+b") as file:
        file.truncate(sum(map(len, lines[:kept])))


def without_numbers(tasks: tuple[Task, ...]) -> list[Task]:
    return [
        task.replace(seq=0, updated_at="", created_at="", blocks=tuple(sorted(task.blocks))) for task in tasks
    ]


def repairs(team: Team) -> list[dict[str, Any]]:
    return [dict(event.data) for _, event in team.events.read() if event.event == "store_repaired"]


@pytest.fixture
def team(tmp_path: Path) -> Team:
    made = prepare(tmp_path / "root")
    worked(made)
    return made


@pytest.mark.parametrize("kept", range(LINES))
@pytest.mark.parametrize("by", ["another process", "one that has read the lines"])
def test_cut_journal_goes_on_with_all_that_the_files_know(team: Team, kept: int, by: str) -> None:
    before = team.tasks("user").table().tasks()
    cut(team, kept)
    store = (team if "one" in by else reopened(team)).tasks("user")
    (extra,) = store.create(NewTask(subject="goes on"))

    assert without_numbers(store.table().tasks()) == without_numbers((*before, extra))
    assert extra.id == "7"
    assert min(seqs(team)) > LINES
    assert repairs(team)[0] == {"cut_after": kept, "goes_on_after": LINES + 1}
    check_views(team)
    held = store.get_task("3")
    assert held.claim is not None
    assert held.claim.run_id == RUN_OF["w1"]
    assert team.tasks("w1").complete("3", held.claim.token, RESULT).status == "completed"


def test_folder_that_was_put_back_from_a_copy_gives_no_id_out_again(team: Team, tmp_path: Path) -> None:
    """Of the tasks that came after the copy was made only the events know."""
    shutil.copytree(team.layout.tasks_dir, tmp_path / "copy")
    (late,) = team.tasks("user").create(NewTask(subject="after the copy"))
    team.close()
    shutil.rmtree(team.layout.tasks_dir)
    shutil.copytree(tmp_path / "copy", team.layout.tasks_dir)
    (extra,) = reopened(team).tasks("user").create(NewTask(subject="goes on"))

    assert int(extra.id) == int(late.id) + 1
    check_views(team)


def check_views(team: Team) -> None:
    """Check that files, mark and events say what the journal says, and that there is no repair left to do."""
    before = len(repairs(team))
    store = reopened(team).tasks("checker")
    with store._ledger.locked() as table:
        tasks = table.tasks()
        mark = find_mark(team.layout.lock("tasks"))
        assert mark is not None
        assert (mark.gen, mark.seq) == (table.gen, table.seq)
    assert store.list_tasks() == tasks
    assert store.sweep() == ()
    assert len(repairs(team)) == before
    numbers = [event.seq for _, event in team.events.read() if event.seq]
    assert numbers == sorted(set(numbers))
    assert set(seqs(team)) <= set(numbers)


def test_reader_without_the_lock_is_not_fooled(team: Team) -> None:
    """A worker would see no tasks and rest, and whoever waits for all would be told that all is done."""
    before = team.tasks("user").table().tasks()
    cut(team, 0)
    assert without_numbers(reopened(team).tasks("w1").table().tasks()) == without_numbers(before)
    assert without_numbers(team.tasks("user").table().tasks()) == without_numbers(before)


def test_line_whose_writer_was_killed_before_the_mark_keeps_its_number(team: Team) -> None:
    mark = find_mark(team.layout.lock("tasks"))
    assert mark is not None
    fd = os.open(team.layout.lock("tasks"), os.O_RDWR)
    write_mark(fd, team.layout.lock("tasks"), mark.gen, LINES - 1)
    os.close(fd)
    cut(team, LINES - 2)
    reopened(team).tasks("user").create(NewTask(subject="goes on"))
    assert min(seqs(team)) > LINES
    check_views(team)


def test_task_of_a_lost_line_is_kept_although_its_number_is_low(team: Team) -> None:
    """Another client gave it that number, and the line that took it over is gone."""
    store = team.tasks("user")
    store.delete("5")
    theirs = {"id": "5", "subject": "theirs", "status": "pending", "blocks": [], "blockedBy": []}
    Path(team.layout.task("5")).write_text(json.dumps(theirs))
    store.sweep()
    assert store.get_task("5").subject == "theirs"
    lines = Path(team.layout.journal).read_bytes().splitlines(keepends=True)
    Path(team.layout.journal).write_bytes(b"".join(lines[:-1]))
    assert reopened(team).tasks("user").table().get("5").subject == "theirs"


def test_journal_that_is_cut_after_a_rewrite_has_a_later_generation(team: Team) -> None:
    store = team.tasks("user")
    before = store.table().tasks()
    store.rewrite()
    Path(team.layout.journal).write_bytes(b"")
    other = reopened(team).tasks("w1")
    assert without_numbers(other.table().tasks()) == without_numbers(before)
    assert (other.table().gen, store.table().gen) == (2, 2)
    check_views(team)


@pytest.mark.parametrize("kept", [1, 3])
def test_snapshot_that_is_cut_is_never_taken_for_the_whole(team: Team, kept: int) -> None:
    """Its tasks stand in no line, and their files would count as left over from a deletion."""
    store = team.tasks("user")
    store.rewrite()
    lines = Path(team.layout.journal).read_bytes().splitlines(keepends=True)
    Path(team.layout.journal).write_bytes(b"".join(lines[:kept]))
    for call in (lambda: reopened(team).tasks("w1").table(), lambda: store.cancel("1", "no")):
        with pytest.raises(CorruptStateError):
            call()
    assert len(list(Path(team.layout.tasks_dir).glob("*.json"))) == 6


def test_another_boot_is_a_power_loss(team: Team) -> None:
    """What was not synced may be gone then, and that is no news."""
    path = Path(team.layout.lock("tasks"))
    gen, seq, _ = path.read_bytes()[:64].split()
    path.write_bytes((b"%s %s an-earlier-boot" % (gen, seq)).ljust(64))
    cut(team, 9)
    reopened(team).tasks("user").table()
    reopened(team).tasks("user").create(NewTask(subject="goes on"))
    assert all("cut_after" not in data for data in repairs(team))


def failing_points(root: Path, use: Callable[[Team], object]) -> Recorder:
    recorder = Recorder()
    with fault_hook(recorder):
        use(copied(root, -1))
    return recorder


def test_repair_that_is_cut_off_anywhere_is_done_by_the_next(team: Team) -> None:
    before = without_numbers(team.tasks("user").table().tasks())
    cut(team, 7)
    root = Path(team.layout.team_dir).parent.parent

    def look(other: Team) -> TaskStore:
        store = other.tasks("w2")
        with store._ledger.locked():
            return store

    points = failing_points(root, look).changing_points()
    assert len(points) > 20
    for number, point in enumerate(points):
        other = copied(root, number)
        with fault_hook(FailAt(point, lasting=True)), pytest.raises(StateError):
            look(other)
        again = reopened(other)
        look(again)
        assert without_numbers(again.tasks("w2").table().tasks()) == before, point
        assert min(seqs(again), default=LINES + 1) > LINES, point
        assert repairs(again)[0]["cut_after"] == 7, point
        assert reopened(again).tasks("w2").sweep() == (), point
