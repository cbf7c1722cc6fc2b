"""Other hands make task files, remove them, put old ones back, and leave odd ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from swarm.core.journal import parse_line
from swarm.core.task import NewTask
from swarm.errors import NotFoundError
from swarm.storage.tasks import TaskStore
from swarm.storage.team import Team
from tests.support.stores import RESULT, check_tasks, claim_task, reopened
from tests.unit.storage.hands import add, by_hand, make_by_hand, raw, reverted, swept


def test_new_file_of_another_client_becomes_a_task(team: Team, store: TaskStore) -> None:
    add(store)
    make_by_hand(team, "5", blockedBy=["1"], owner="alice", reviewer="bob")
    assert swept(store) == [("5", "adopted")]
    task = store.table().get("5")
    assert (task.subject, task.blocked_by, task.created_by) == ("theirs", ("1",), "user")
    assert raw(team, "5")["reviewer"] == "bob"
    assert store.get_task("1").blocks == ("5",)
    assert add(store) == "6"
    check_tasks(team)


@pytest.mark.parametrize("use", ["claim", "claim of it", "show"])
def test_new_file_is_a_task_as_soon_as_somebody_wants_it(team: Team, store: TaskStore, use: str) -> None:
    make_by_hand(team, "3")
    if use == "show":
        assert store.get_task("3").subject == "theirs"
        assert [task.id for task in store.list_tasks()] == ["3"]
    else:
        assert claim_task(team, "w1", "3" if use == "claim of it" else None).id == "3"
        check_tasks(team)


def test_new_files_may_wait_for_each_other_in_any_order(team: Team, store: TaskStore) -> None:
    make_by_hand(team, "1", blockedBy=["3"])
    make_by_hand(team, "2", blocks=["1"])
    make_by_hand(team, "3", status="completed", metadata={"swarm": {"verify": ["true"]}})
    store.sweep()
    assert store.table().get("1").blocked_by == ("3", "2")
    assert store.table().ready_ids() == ("2",)
    result = store.table().get("3").result
    assert result is not None
    assert result.not_checked == ("verify",)
    check_tasks(team)


def test_new_file_under_way_has_somebody_on_it(team: Team, store: TaskStore) -> None:
    make_by_hand(team, "1", status="in_progress")
    store.sweep()
    assert store.table().get("1").owner == "user"
    check_tasks(team)


def test_late_write_of_a_deleted_task_does_not_bring_it_back(team: Team, store: TaskStore) -> None:
    add(store)
    kept = Path(team.layout.task("1")).read_bytes()
    store.delete("1")
    Path(team.layout.task("1")).write_bytes(kept)
    assert swept(store) == [("1", "removed")]
    assert store.list_tasks() == ()
    assert add(store) == "2"
    check_tasks(team)


def test_file_removed_by_hand_is_written_again(team: Team, store: TaskStore) -> None:
    add(store)
    Path(team.layout.task("1")).unlink()
    assert swept(store) == [("1", "restored")]
    check_tasks(team)


@pytest.mark.parametrize(
    ("content", "told"), [("", 0), ("{half", 0), ("[]", 0), ('{"status": "done", "subject": "x"}', 1)]
)
def test_file_that_is_no_task_is_written_again(team: Team, store: TaskStore, content: str, told: int) -> None:
    add(store)
    Path(team.layout.task("1")).write_text(content)
    assert swept(store) == [("1", "put_back" if told else "restored")]
    assert len(reverted(team)) == told
    check_tasks(team)


@pytest.mark.parametrize(
    "content", ["", "{half", '{"status": "done"}', '{"subject": "x", "status": "pending", "n": NaN}']
)
def test_unknown_file_that_is_no_task_is_told_and_left_alone(
    team: Team, store: TaskStore, content: str
) -> None:
    Path(team.layout.task("4")).write_text(content)
    assert swept(store) == [("4", "damaged")]
    assert Path(team.layout.task("4")).read_text() == content
    with pytest.raises(NotFoundError):
        store.cancel("4", "no")


def test_old_copy_put_back_changes_nothing_but_what_was_edited_in_it(team: Team, store: TaskStore) -> None:
    add(store)
    old = raw(team, "1")
    store.edit("1", {"description": "newer"})
    Path(team.layout.task("1")).write_text(json.dumps(old))
    assert swept(store) == [("1", "restored")]
    Path(team.layout.task("1")).write_text(json.dumps(old | {"subject": "edited"}))
    assert swept(store) == [("1", "adopted")]
    task = store.table().get("1")
    assert (task.subject, task.description) == ("edited", "newer")
    check_tasks(team)


def test_file_is_patched_by_the_repair_and_not_overwritten(team: Team, store: TaskStore) -> None:
    """A writer was killed between line and file, and the file had been edited before."""
    add(store)
    edited = raw(team, "1") | {"subject": "edited", "reviewer": "alice"}
    mark = Path(team.layout.lock("tasks")).read_bytes()
    store.edit("1", {"description": "by command"})
    Path(team.layout.task("1")).write_text(json.dumps(edited))
    Path(team.layout.lock("tasks")).write_bytes(mark)
    other = reopened(team).tasks("w1")
    other.create(NewTask(subject="next"))
    other.sweep()
    task = other.table().get("1")
    assert (task.subject, task.description, task.extra) == ("edited", "by command", {"reviewer": "alice"})
    check_tasks(team)


def test_file_ahead_of_a_journal_that_was_put_back_is_taken_over(team: Team, store: TaskStore) -> None:
    """The file knows of what the journal has lost; numbers go on above the lost ones."""
    add(store)
    journal = Path(team.layout.journal)
    kept = journal.read_bytes()
    add(store)
    claim = claim_task(team, "w1").claim
    journal.write_bytes(kept)
    other = reopened(team).tasks("w1")
    add(other)
    table = other.table()
    assert [task.id for task in table.tasks()] == ["1", "2", "3"]
    assert (table.get("1").status, table.get("1").claim) == ("in_progress", claim)
    assert table.get("2").subject == "do it"
    lines = list(map(parse_line, journal.read_bytes().splitlines()))
    assert [line["seq"] for line in lines if line["op"] not in {"head", "snap"}] == [5, 6, 7]
    assert claim is not None
    assert team.tasks("w1").complete("1", claim.token, RESULT).status == "completed"


def test_loop_planted_in_the_files_is_broken_and_told(team: Team, store: TaskStore) -> None:
    for _ in range(2):
        add(store)
    for task_id, other in (("1", "2"), ("2", "1")):
        by_hand(team, task_id, {"blockedBy": [other], "blocks": [other]})
    verdicts = store.sweep()
    assert any("1 -> 2 -> 1" in v.reason or "2 -> 1 -> 2" in v.reason for v in verdicts)
    assert len(store.table().ready_ids()) == 1
    check_tasks(team)


def test_loop_in_new_files_is_broken_and_told(team: Team, store: TaskStore) -> None:
    make_by_hand(team, "1", blockedBy=["2"])
    make_by_hand(team, "2", blockedBy=["1"])
    store.sweep()
    assert len(store.table().ready_ids()) == 1
    assert "->" in reverted(team)[0].data["reason"]
    check_tasks(team)


def test_odd_names_are_listed_and_never_read(team: Team, store: TaskStore) -> None:
    add(store)
    for name in ("x.json", "01.json", "1.json.bak", "1234567890.json", ".hidden"):
        Path(team.layout.tasks_dir, name).write_text("{half")
    assert store.odd_files() == ("01.json", "1.json.bak", "1234567890.json", "x.json")
    assert store.sweep() == ()
    assert [task.id for task in store.list_tasks()] == ["1"]


def test_id_in_a_file_is_what_its_name_says(team: Team, store: TaskStore) -> None:
    add(store)
    by_hand(team, "1", {"id": "77"})
    assert store.get_task("1").id == "1"
    assert store.list_tasks()[0].id == "1"


def test_sweep_without_changes_takes_no_lock_and_reads_no_file(team: Team, store: TaskStore) -> None:
    from swarm.storage.syscalls import fault_hook
    from tests.support.faults import Recorder

    for _ in range(3):
        add(store)
    store.sweep()
    recorder = Recorder()
    with fault_hook(recorder):
        assert store.sweep() == ()
    calls = {point.call for point in recorder.points()}
    assert calls <= {"stat", "fstat", "scan"}


def test_edit_between_look_and_write_is_found_later(team: Team, store: TaskStore) -> None:
    """Another client takes no lock of ours: it may write at any moment."""
    from swarm.storage.syscalls import fault_hook

    add(store)
    store.sweep()
    hit: list[str] = []

    def hook(call: str, path: str, size: int) -> None:
        if call == "append" and path == team.layout.journal and not hit:
            hit.append(path)
            by_hand(team, "1", {"description": "just now", "reviewer": "alice"})

    with fault_hook(hook):
        claimed = claim_task(team, "w1")
    assert claimed.description == ""
    assert raw(team, "1")["description"] == "just now"
    assert raw(team, "1")["status"] == "in_progress"
    store.sweep()
    assert store.table().get("1").description == "just now"
    check_tasks(team)
