"""The journal says what is so: torn, damaged or missing, and with views that are behind it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from swarm.core.journal import render_line
from swarm.errors import CorruptStateError
from swarm.storage.tasks import TaskStore
from swarm.storage.team import Team
from tests.support.stores import RUN_OF, check_tasks, claim_task, reopened
from tests.unit.storage.steps import add, kinds, lines_of


@pytest.mark.parametrize("torn", [b'{"seq":2,"op":"new"', b"\0" * 10])
def test_torn_journal_line_is_cut_and_its_number_used_again(
    team: Team, store: TaskStore, torn: bytes
) -> None:
    """Nobody was told of that line."""
    add(store, "first")
    with Path(team.layout.journal).open("ab") as file:
        file.write(torn)
    other = reopened(team).tasks("user")
    assert [task.id for task in other.table().tasks()] == ["1"]
    add(other, "second")
    assert [line["seq"] for line in lines_of(team)] == [1, 2]
    check_tasks(team)


def test_line_without_its_views_is_finished_by_the_next_holder(team: Team, store: TaskStore) -> None:
    add(store, "first", "second")
    line = {
        "seq": 3,
        "op": "edge",
        "at": "2026-11-30T12:31:02.400Z",
        "by": "user",
        "a": "1",
        "b": "2",
        "add": True,
    }
    with Path(team.layout.journal).open("ab") as file:
        file.write(render_line(line))
    assert store.get_task("2").blocked_by == ()
    store.table()  # a reader that has folded the line already must not hide it from the repair
    add(store, "third")
    assert store.get_task("2").blocked_by == ("1",)
    assert store.get_task("1").blocks == ("2",)
    assert kinds(team) == ["task_created", "task_created", "task_linked", "task_created"]
    repaired = [event for _, event in team.events.read() if event.event == "store_repaired"]
    assert [event.data for event in repaired] == [{"lines": 1}]
    check_tasks(team)


def test_deletion_without_its_views_is_finished_by_the_next_holder(team: Team, store: TaskStore) -> None:
    add(store, "first")
    add(store, "second", blocked_by=("1",))
    line = {"seq": 3, "op": "del", "at": "2026-11-30T12:31:02.400Z", "by": "user", "id": "2", "near": ["1"]}
    with Path(team.layout.journal).open("ab") as file:
        file.write(render_line(line))
    claim_task(team, "w1")
    assert store.get_task("1").blocks == ()
    assert not Path(team.layout.task("2")).exists()
    check_tasks(team)


@pytest.mark.parametrize("mark", [b"", b"garbage", b"0 999 some-boot".ljust(64), b"x y z".ljust(64)])
def test_without_a_mark_to_trust_every_file_is_compared(team: Team, store: TaskStore, mark: bytes) -> None:
    """The lock file may be lost, or tell of an earlier boot in which the files were not yet on disk."""
    add(store, "first", "second", "third")
    Path(team.layout.lock("tasks")).write_bytes(mark)
    Path(team.layout.task("1")).write_text("")
    Path(team.layout.task("2")).unlink()
    third = Path(team.layout.task("3")).stat()
    add(store, "fourth")
    check_tasks(team)
    assert Path(team.layout.task("3")).stat().st_mtime_ns == third.st_mtime_ns
    assert kinds(team) == ["task_created"] * 4


@pytest.mark.parametrize("size", [0, 1000])
def test_journal_of_another_generation_is_read_anew(team: Team, store: TaskStore, size: int) -> None:
    """Somebody replaced it by another one that says the same."""
    add(store, "first", "second")
    tasks = [json.loads(Path(team.layout.task(task_id)).read_text()) for task_id in ("1", "2")]
    snaps = [{"op": "snap", "task": task, "padding": "x" * size} for task in tasks]
    head = {"op": "head", "gen": 1, "seq": 2, "next": 3}
    fresh = Path(team.layout.tasks_dir, ".journal.jsonl.new")
    fresh.write_bytes(b"".join(map(render_line, [head, *snaps])))
    fresh.rename(team.layout.journal)
    assert add(store, "third") == ("3",)
    assert store.table().gen == 1
    assert Path(team.layout.lock("tasks")).read_bytes().startswith(b"1 3 ")
    check_tasks(team)


def test_journal_that_was_cut_is_read_anew(team: Team, store: TaskStore) -> None:
    """Somebody put an older copy back, with the lock file of its time."""
    add(store, "first")
    mark = Path(team.layout.lock("tasks")).read_bytes()
    add(store, "second")
    path = Path(team.layout.journal)
    path.write_bytes(path.read_bytes().splitlines(keepends=True)[0])
    Path(team.layout.lock("tasks")).write_bytes(mark)
    Path(team.layout.task("2")).unlink()
    assert [task.id for task in store.table().tasks()] == ["1"]


@pytest.mark.parametrize("damage", [b"garbage\n", b'{"seq":3,"op":"del","c":"00000000"}\n'])
def test_damaged_journal_is_an_error_and_left_as_it_is(team: Team, store: TaskStore, damage: bytes) -> None:
    add(store, "first", "second")
    path = Path(team.layout.journal)
    first, second = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(first + damage + second)
    for call in (
        lambda: reopened(team).tasks("user").table(),
        lambda: add(reopened(team).tasks("user"), "x"),
    ):
        with pytest.raises(CorruptStateError) as caught:
            call()
        assert caught.value.details["path"] == str(path)
    assert path.read_bytes() == first + damage + second
    seen = reopened(team).tasks("user").look()
    assert [task.id for task in seen.tasks] == ["1", "2"]
    assert len(seen.problems) == 1
    assert str(path) in seen.problems[0]
    assert "this is what the task files say" in seen.problems[0]


def test_missing_journal_is_an_error_and_never_an_empty_list(team: Team, store: TaskStore) -> None:
    add(store, "first")
    Path(team.layout.journal).unlink()
    with pytest.raises(CorruptStateError):
        claim_task(team, "w1")
    assert not Path(team.layout.journal).exists()


def test_line_that_could_not_be_read_back_is_never_written(team: Team, store: TaskStore) -> None:
    """It would lock everybody out of the team for good."""
    for body in (
        {"op": "claim", "by": "w1", "id": "77", "run": RUN_OF["w1"]},
        {"op": "edge", "a": "1", "b": "77", "add": True},
        {"op": "unheard of", "id": "1"},
        {"op": "new", "id": "1", "task": {"id": "1", "subject": float("nan"), "status": "pending"}},
    ):
        with store._ledger.locked(), pytest.raises((ValueError, KeyError)):
            store._ledger.commit(body)
    assert lines_of(team) == []
    assert add(store, "goes on") == ("1",)
    check_tasks(team)
