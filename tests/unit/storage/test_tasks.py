from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from swarm.core.journal import parse_line, render_line
from swarm.core.operations import Refusal
from swarm.core.task import NewTask, Requires, Task
from swarm.errors import CorruptStateError, CycleError, NotFoundError, TaskError
from swarm.settings import Settings
from swarm.storage.tasks import TaskStore
from swarm.storage.team import Team
from swarm.testing.clock import FakeClock
from tests.support.stores import RESULT, RUN_OF, check_tasks, claim_task, make_team, reopened


@pytest.fixture
def store(team: Team) -> TaskStore:
    return team.tasks("user")


def add(store: TaskStore, *subjects: str, **fields: Any) -> tuple[str, ...]:
    return tuple(task.id for task in store.create(*(NewTask(subject=s, **fields) for s in subjects)))


def lines_of(team: Team) -> list[dict[str, Any]]:
    return [parse_line(raw) for raw in Path(team.layout.journal).read_bytes().splitlines()]


def kinds(team: Team) -> list[str]:
    return [event.event for _, event in team.events.read() if event.event.startswith("task_")]


def test_operation_is_one_line_then_its_files_then_its_event(team: Team, store: TaskStore) -> None:
    add(store, "first")
    add(store, "second", blocked_by=("1",))
    task = claim_task(team, "w1")
    assert [(line["seq"], line["op"], line["by"]) for line in lines_of(team)] == [
        (1, "new", "user"),
        (2, "new", "user"),
        (3, "claim", "w1"),
    ]
    assert store.get_task("1") == task
    assert task.claim is not None
    assert task.claim.token == f"3/{RUN_OF['w1']}"
    assert task.blocks == ("2",)
    assert kinds(team) == ["task_created", "task_created", "task_claimed"]
    check_tasks(team)


def test_other_store_sees_every_change_and_takes_part(team: Team, store: TaskStore) -> None:
    add(store, "first", "second")
    other = reopened(team)
    first = claim_task(other, "w1")
    second = claim_task(team, "w2")
    assert (first.id, second.id) == ("1", "2")
    assert store.table().counts()["in_progress"] == 2
    assert other.tasks("user").list_tasks() == store.list_tasks()
    check_tasks(team)


def test_lost_claim_is_a_refusal_that_names_the_winner(team: Team, store: TaskStore) -> None:
    add(store, "only")
    claim_task(team, "w1")
    refused = team.tasks("w2").claim("w2", None, RUN_OF["w2"], "1")
    assert isinstance(refused, Refusal)
    assert (refused.code, refused.details["owner"]) == ("taken", "w1")
    refused = team.tasks("w2").claim("w2", None, RUN_OF["w2"])
    assert isinstance(refused, Refusal)
    assert refused.code == "nothing_ready"


def test_task_goes_through_its_life(team: Team, store: TaskStore) -> None:
    add(store, "first")
    worker = team.tasks("w1")
    task = claim_task(team, "w1")
    assert task.claim is not None
    assert worker.release("1", task.claim.token, "asked to stop").status == "pending"
    task = claim_task(team, "w1")
    assert task.claim is not None
    assert worker.end_attempt("1", task.claim.token, "tests fail").attempts == 1
    task = claim_task(team, "w1")
    assert task.claim is not None
    assert worker.fail("1", task.claim.token, "no such function").status == "failed"
    assert store.retry("1").status == "pending"
    task = claim_task(team, "w1")
    freed = store.free_dead("1", RUN_OF["w1"], "its process is gone")
    assert freed is not None
    assert freed.crashes == 1
    task = claim_task(team, "w1")
    assert task.claim is not None
    done = worker.complete("1", task.claim.token, RESULT)
    assert (done.status, done.result) == ("completed", RESULT)
    assert kinds(team)[-2:] == ["task_claimed", "task_completed"]
    check_tasks(team)


def test_token_of_an_earlier_claim_is_refused_and_nothing_changes(team: Team, store: TaskStore) -> None:
    """A worker that was taken for dead must not end what another one has now."""
    add(store, "first")
    old = claim_task(team, "w1").claim
    assert old is not None
    store.free_dead("1", RUN_OF["w1"], "its process is gone")
    claim_task(team, "w2")
    for change in (
        lambda: team.tasks("w1").complete("1", old.token, RESULT),
        lambda: team.tasks("w1").fail("1", old.token, "no"),
        lambda: team.tasks("w1").release("1", old.token, "no"),
    ):
        with pytest.raises(TaskError) as caught:
            change()
        assert caught.value.code == "stale_token"
    assert store.get_task("1").owner == "w2"
    assert len(lines_of(team)) == 4


def test_completion_repeated_with_its_token_writes_nothing(team: Team, store: TaskStore) -> None:
    """A worker that was killed before the answer came asks again."""
    add(store, "first")
    claim = claim_task(team, "w1").claim
    assert claim is not None
    first = team.tasks("w1").complete("1", claim.token, RESULT)
    assert reopened(team).tasks("w1").complete("1", claim.token, RESULT) == first
    assert kinds(team).count("task_completed") == 1


def test_links_are_on_both_sides_and_loops_are_refused(team: Team, store: TaskStore) -> None:
    add(store, "first", "second", "third")
    store.link("1", "2")
    store.link("2", "3")
    assert store.get_task("2").blocks == ("3",)
    with pytest.raises(CycleError):
        store.link("3", "1")
    store.unlink("1", "2")
    assert (store.get_task("1").blocks, store.get_task("2").blocked_by) == ((), ())
    assert kinds(team)[-3:] == ["task_linked", "task_linked", "task_unlinked"]
    check_tasks(team)


def test_edit_changes_only_what_it_names(team: Team, store: TaskStore) -> None:
    add(store, "first", files=("api/**",))
    claim_task(team, "w1")
    task = store.edit("1", {"description": "now with words"}, {"verify": ["make test"]})
    assert (task.owner, task.status, task.description) == ("w1", "in_progress", "now with words")
    assert (task.files, task.verify) == (("api/**",), ("make test",))
    check_tasks(team)


def test_cancelled_blocker_keeps_its_dependants_waiting(team: Team, store: TaskStore) -> None:
    add(store, "first")
    add(store, "second", blocked_by=("1",))
    store.cancel("1", "not needed")
    assert store.table().ready_ids() == ()


def test_ids_are_never_used_again(team: Team, store: TaskStore) -> None:
    add(store, "first", "second", "third")
    store.delete("3")
    assert Path(team.layout.highwatermark).read_text() == "3"
    assert not Path(team.layout.task("3")).exists()
    assert add(store, "fourth") == ("4",)
    for content in ("", "garbage", "0", "-5", "9" * 40):
        Path(team.layout.highwatermark).write_text(content)
        store.delete(add(reopened(team).tasks("user"), "x")[0])
    Path(team.layout.highwatermark).unlink()
    assert add(store, "last") == ("10",)
    check_tasks(team)


def test_ids_of_another_clients_counter_and_files_are_passed_over(team: Team, store: TaskStore) -> None:
    """It may have made a task that our journal does not know."""
    Path(team.layout.highwatermark).write_text("7")
    assert add(store, "first") == ("8",)
    foreign = {"id": "9", "subject": "theirs", "status": "pending", "blocks": [], "blockedBy": []}
    Path(team.layout.task("9")).write_text(json.dumps(foreign))
    assert add(store, "second") == ("10",)
    assert [task.subject for task in store.list_tasks()] == ["first", "theirs", "second"]


def test_deleting_cuts_the_links_of_neighbours(team: Team, store: TaskStore) -> None:
    add(store, "first")
    add(store, "second", blocked_by=("1",))
    with pytest.raises(TaskError):
        store.delete("1")
    store.delete("1", unlink=True)
    assert store.get_task("2").blocked_by == ()
    with pytest.raises(NotFoundError):
        store.get_task("1")
    check_tasks(team)


def test_new_file_is_padded_and_changed_in_place_while_it_fits(team: Team, store: TaskStore) -> None:
    add(store, "first")
    path = Path(team.layout.task("1"))
    made = path.read_bytes()
    assert made.endswith(b" " * 128 + b"\n")
    inode = path.stat().st_ino
    claim_task(team, "w1")
    assert path.stat().st_ino == inode
    assert len(path.read_bytes()) == len(made)
    store.edit("1", {"description": "x" * len(made)})
    assert path.stat().st_ino != inode
    assert path.read_bytes().endswith(b" " * 128 + b"\n")
    assert json.loads(path.read_text())["description"] == "x" * len(made)


def test_file_above_one_page_is_never_written_in_place(team: Team, store: TaskStore) -> None:
    """A write that crosses a page can be torn by a kill."""
    add(store, "big", description="x" * 4096)
    path = Path(team.layout.task("1"))
    inode = path.stat().st_ino
    store.edit("1", {"subject": "b"})
    assert path.stat().st_ino != inode
    check_tasks(team)


def test_files_are_indented_private_and_readable_as_text(team: Team, store: TaskStore) -> None:
    add(store, "Zoë")
    path = Path(team.layout.task("1"))
    assert '\n  "subject": "Zoë",\n' in path.read_text(encoding="utf-8")
    assert path.stat().st_mode & 0o777 == 0o600


def test_fields_that_another_client_added_survive_our_writes(team: Team, store: TaskStore) -> None:
    add(store, "first", metadata={"ours": 1})
    path = Path(team.layout.task("1"))
    raw = json.loads(path.read_text())
    raw["reviewer"] = "alice"
    raw["metadata"]["theirs"] = 2
    raw["metadata"]["swarm"]["later"] = 3
    path.write_text(json.dumps(raw))
    claim_task(team, "w1")
    store.edit("1", {"metadata": {"ours": None}})
    after = json.loads(path.read_text())
    assert after["reviewer"] == "alice"
    assert after["metadata"]["theirs"] == 2
    assert after["metadata"]["swarm"]["later"] == 3
    assert "ours" not in after["metadata"]


def test_drafts_and_other_files_disturb_no_reader(team: Team, store: TaskStore) -> None:
    add(store, "first")
    for name in (".1.4711.tmp", ".lock", "notes.json", "01.json", "1.json.bak"):
        Path(team.layout.tasks_dir, name).write_text("{half")
    assert [task.id for task in store.list_tasks()] == ["1"]
    assert claim_task(team, "w1").id == "1"


def test_repair_sweeps_the_drafts_of_the_dead(team: Team, store: TaskStore) -> None:
    add(store, "first")
    draft = Path(team.layout.tasks_dir, ".1.4711.tmp")
    draft.write_text("{half")
    os.truncate(team.layout.lock("tasks"), 0)
    add(store, "second")
    assert not draft.exists()


@pytest.mark.parametrize("damage", ["", "{half", "[]", '{"id": "1"}'])
def test_damaged_file_of_a_known_task_is_read_from_the_journal(
    team: Team, store: TaskStore, damage: str
) -> None:
    """After a power loss files may be empty; the journal is what was synced."""
    add(store, "first", "second")
    Path(team.layout.task("1")).write_text(damage)
    assert [task.subject for task in store.list_tasks()] == ["first", "second"]
    assert store.get_task("1").subject == "first"
    claim_task(team, "w1")
    check_tasks(team)


def test_missing_file_of_a_known_task_is_read_from_the_journal(team: Team, store: TaskStore) -> None:
    add(store, "first")
    Path(team.layout.task("1")).unlink()
    assert store.get_task("1").subject == "first"
    claim_task(team, "w1")
    assert store.list_tasks()[0].owner == "w1"


def test_damaged_file_of_an_unknown_task_is_an_error(team: Team, store: TaskStore) -> None:
    Path(team.layout.task("5")).write_text("{half")
    with pytest.raises(CorruptStateError):
        store.list_tasks()


@pytest.mark.parametrize("task_id", ["9", "01", "x", "", "../1", "1.json"])
def test_unknown_id_is_not_found(store: TaskStore, task_id: str) -> None:
    with pytest.raises(NotFoundError) as caught:
        store.get_task(task_id)
    assert caught.value.code == "no_such_task"


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
    assert [task.id for task in reopened(team).tasks("user").list_tasks()] == ["1", "2"]


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


def test_run_id_that_is_none_is_refused_before_anything_is_written(team: Team, store: TaskStore) -> None:
    add(store, "first")
    with pytest.raises(ValueError):
        store.claim("w1", None, "not a run id")
    assert len(lines_of(team)) == 1


def test_task_for_a_role_is_claimed_by_that_role_alone(team: Team, store: TaskStore) -> None:
    add(store, "for builders", requires=Requires(role="builder"))
    refused = store.claim("w1", "tester", RUN_OF["w1"])
    assert isinstance(refused, Refusal)
    assert isinstance(store.claim("w1", "builder", RUN_OF["w1"]), Task)


def test_change_mark_changes_with_every_line_and_only_then(team: Team, store: TaskStore) -> None:
    add(store, "first")
    before = store.change_mark()
    store.list_tasks()
    assert store.change_mark() == before
    claim_task(team, "w1")
    assert store.change_mark() != before


def test_closed_store_opens_again(team: Team, store: TaskStore) -> None:
    add(store, "first")
    store.close()
    assert claim_task(team, "w1").id == "1"
    team.close()
    assert store.table().get("1").owner == "w1"


def test_store_that_is_dropped_keeps_no_file_open(tmp_path: Path) -> None:
    made = make_team(tmp_path)
    add(made.tasks("user"), "first")
    made.inbox("w1").acknowledge(["x"])
    del made
    links = (f"/proc/self/fd/{fd}" for fd in os.listdir("/proc/self/fd"))
    assert not [link for link in links if os.path.exists(link) and str(tmp_path) in os.readlink(link)]


def test_stores_are_shared_by_author(team: Team) -> None:
    assert team.tasks("w1") is team.tasks("w1")
    assert team.tasks("w1") is not team.tasks("w2")


def test_results_are_synced_where_they_must_last(tmp_path: Path, monkeypatch) -> None:
    """Creation and every end; a claim can be made again and need not wait for the disk."""
    team = make_team(tmp_path, settings=Settings(), clock=FakeClock())
    synced: list[int] = []
    monkeypatch.setattr(os, "fdatasync", lambda fd: synced.append(os.fstat(fd).st_size))
    add(team.tasks("user"), "first", "second")
    assert synced == [os.stat(team.layout.journal).st_size]
    claim = claim_task(team, "w1").claim
    assert len(synced) == 1
    assert claim is not None
    team.tasks("w1").complete("1", claim.token, RESULT)
    assert synced[1:] == [os.stat(team.layout.journal).st_size]
    team.tasks("user").cancel("2", "no")
    assert len(synced) == 3
