"""Other hands change task files: clients that know no journal, and people with an editor."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from swarm.core.event import Event
from swarm.core.journal import parse_line
from swarm.core.operations import Refusal
from swarm.core.task import NewTask, Requires
from swarm.errors import NotFoundError, TaskError
from swarm.storage.tasks import TaskStore
from swarm.storage.team import Team
from tests.support.stores import RESULT, RUN_OF, check_tasks, claim_task, reopened

Change = Callable[[dict[str, Any]], object]


@pytest.fixture
def store(team: Team) -> TaskStore:
    return team.tasks("user")


def add(store: TaskStore, subject: str = "do it", **fields: Any) -> str:
    return store.create(NewTask(subject=subject, **fields))[0].id


def raw(team: Team, task_id: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path(team.layout.task(task_id)).read_text())
    return found


def by_hand(team: Team, task_id: str, change: Change | Mapping[str, Any]) -> None:
    """Change a task's file as an editor does: in place, the padding gone."""
    obj = raw(team, task_id)
    if callable(change):
        change(obj)
    else:
        obj |= change
    Path(team.layout.task(task_id)).write_text(json.dumps(obj))


def make_by_hand(team: Team, task_id: str, **fields: Any) -> None:
    obj = {
        "id": task_id,
        "subject": "theirs",
        "description": "",
        "status": "pending",
        "blocks": [],
        "blockedBy": [],
    }
    Path(team.layout.task(task_id)).write_text(json.dumps(obj | fields))


def ops_of(team: Team) -> list[tuple[str, str]]:
    lines = map(parse_line, Path(team.layout.journal).read_bytes().splitlines())
    return [(line["op"], line["by"]) for line in lines]


def reverted(team: Team) -> list[Event]:
    return [event for _, event in team.events.read() if event.event == "task_edit_reverted"]


def swept(store: TaskStore) -> list[tuple[str, str]]:
    return [(verdict.task, verdict.what) for verdict in store.sweep()]


def test_text_changed_by_hand_becomes_a_line(team: Team, store: TaskStore) -> None:
    task_id = add(store)
    by_hand(team, task_id, {"subject": "do it well", "activeForm": "Doing it"})
    assert swept(store) == [(task_id, "adopted")]
    assert ops_of(team) == [("new", "user"), ("edit", "user")]
    task = reopened(team).tasks("w1").table().get(task_id)
    assert (task.subject, task.active_form) == ("do it well", "Doing it")
    check_tasks(team)
    assert swept(store) == []


@pytest.mark.parametrize("use", ["claim", "claim of it", "edit", "link"])
def test_changed_file_is_read_before_its_task_is_used(team: Team, store: TaskStore, use: str) -> None:
    """Without a sweep: a write of ours would overwrite the change, a claim would act on what was."""
    add(store)
    other = add(store)
    by_hand(team, "1", {"description": "as said on the phone"})
    if use == "edit":
        store.edit("1", {"subject": "new"})
    elif use == "link":
        store.link(other, "1")
    else:
        claim_task(team, "w1", "1" if use == "claim of it" else None)
    assert store.table().get("1").description == "as said on the phone"
    check_tasks(team)


def test_claim_goes_to_the_next_task_when_a_hand_has_finished_the_first(team: Team, store: TaskStore) -> None:
    add(store)
    add(store)
    by_hand(team, "1", {"status": "completed", "owner": "alice"})
    assert claim_task(team, "w1").id == "2"
    check_tasks(team)


def test_fields_nobody_knows_get_into_the_journal(team: Team, store: TaskStore) -> None:
    """So they also survive the loss of the file."""
    add(store, metadata={"old": 1})

    def change(obj: dict[str, Any]) -> None:
        obj["reviewer"] = {"name": "alice", "since": None}
        obj["metadata"]["theirs"] = [1, 2]
        obj["metadata"]["swarm"]["later"] = True
        del obj["metadata"]["old"]

    by_hand(team, "1", change)
    store.sweep()
    Path(team.layout.task("1")).unlink()
    claim_task(team, "w1")
    obj = raw(team, "1")
    assert obj["reviewer"] == {"name": "alice", "since": None}
    assert obj["metadata"]["theirs"] == [1, 2]
    assert obj["metadata"]["swarm"]["later"] is True
    assert "old" not in obj["metadata"]
    check_tasks(team)


def test_nulls_and_reordered_links_are_no_change(team: Team, store: TaskStore) -> None:
    for _ in range(3):
        add(store)
    store.link("1", "3")
    store.link("2", "3")
    by_hand(team, "3", {"blockedBy": ["2", "1"], "activeForm": None, "extra": None})
    assert swept(store) == [("3", "restored")]
    assert swept(store) == []
    assert len(ops_of(team)) == 5
    check_tasks(team)


def test_client_that_drops_what_is_ours_gets_it_back(team: Team, store: TaskStore) -> None:
    add(store, verify=("make test",), metadata={"a": 1})
    by_hand(team, "1", lambda obj: obj.pop("metadata"))
    by_hand(team, "1", {"subject": "renamed"})
    assert swept(store) == [("1", "adopted")]
    task = store.table().get("1")
    assert (task.subject, task.verify, task.metadata) == ("renamed", ("make test",), {"a": 1})
    assert reverted(team) == []
    check_tasks(team)


def test_hand_may_start_and_end_a_task_that_nobody_holds(team: Team, store: TaskStore) -> None:
    add(store, verify=("make test",))
    by_hand(team, "1", {"status": "in_progress", "owner": "alice"})
    store.sweep()
    task = store.table().get("1")
    assert (task.status, task.owner, task.claim) == ("in_progress", "alice", None)
    refused = store.claim("w1", None, RUN_OF["w1"], "1")
    assert isinstance(refused, Refusal)
    assert refused.code == "taken"
    by_hand(team, "1", {"status": "completed"})
    store.sweep()
    task = store.table().get("1")
    assert (task.status, task.owner) == ("completed", "alice")
    assert task.result is not None
    assert task.result.not_checked == ("verify",)
    assert ops_of(team)[1:] == [("edit", "alice"), ("done", "alice")]
    check_tasks(team)


@pytest.mark.parametrize(
    ("moves", "ops", "status"),
    [
        (["completed"], ["edit", "done"], "completed"),
        (["failed"], ["edit", "done"], "failed"),
        (["cancelled"], ["done"], "cancelled"),
        (["cancelled", "pending"], ["done", "free"], "pending"),
        (["in_progress", "pending"], ["edit", "free"], "pending"),
        (["in_progress", "cancelled"], ["edit", "done"], "cancelled"),
    ],
)
def test_hand_moves_a_task_along_the_same_ways(
    team: Team, store: TaskStore, moves: list[str], ops: list[str], status: str
) -> None:
    add(store)
    for move in moves:
        by_hand(team, "1", {"status": move})
        store.sweep()
    assert [op for op, _ in ops_of(team)[1:]] == ops
    assert store.table().get("1").status == status
    assert reverted(team) == []
    check_tasks(team)


@pytest.mark.parametrize(
    "change", [{"status": "completed"}, {"status": "pending"}, {"owner": "alice"}, {"status": "cancelled"}]
)
def test_journal_wins_while_a_claim_lives(team: Team, store: TaskStore, change: dict[str, str]) -> None:
    """Its holder would go on, and be told that its token is of yesterday."""
    add(store)
    claim = claim_task(team, "w1").claim
    by_hand(team, "1", change | {"description": "this is fine"})
    assert swept(store) == [("1", "put_back")]
    assert (raw(team, "1")["status"], raw(team, "1")["owner"]) == ("in_progress", "w1")
    (event,) = reverted(team)
    assert event.task == "1"
    assert event.data["fields"] == " ".join(change)
    assert claim is not None
    done = team.tasks("w1").complete("1", claim.token, RESULT)
    assert (done.status, done.description) == ("completed", "this is fine")
    check_tasks(team)


def test_completion_by_the_holder_comes_through_a_hands_change(team: Team, store: TaskStore) -> None:
    """Without a sweep in between."""
    add(store)
    claim = claim_task(team, "w1").claim
    by_hand(team, "1", {"status": "pending", "owner": None})
    assert claim is not None
    assert team.tasks("w1").complete("1", claim.token, RESULT).status == "completed"
    assert len(reverted(team)) == 1
    check_tasks(team)


@pytest.mark.parametrize(
    ("change", "fields", "why"),
    [
        ({"status": "completed"}, "status", "it waits for task 1"),
        ({"status": "in_progress"}, "status", "it waits for task 1"),
        ({"subject": "  "}, "subject", "cannot be changed so"),
        ({"blockedBy": ["1", "99"]}, "blockedBy", "no task 99"),
        ({"blocks": ["1"]}, "blocks", "2 -> 1 -> 2"),
        ({"blockedBy": ["1", "2"]}, "blockedBy", "2 -> 2"),
    ],
)
def test_what_cannot_be_is_put_back(
    team: Team, store: TaskStore, change: dict[str, Any], fields: str, why: str
) -> None:
    add(store)
    add(store, blocked_by=("1",))
    before = store.table().tasks()
    by_hand(team, "2", change)
    assert swept(store) == [("2", "put_back")]
    (event,) = reverted(team)
    assert event.data["fields"] == fields
    assert why in event.data["reason"]
    assert store.table().tasks() == before
    check_tasks(team)


def test_what_is_ours_alone_is_put_back(team: Team, store: TaskStore) -> None:
    add(store)
    claim_task(team, "w1")

    def forge(obj: dict[str, Any]) -> None:
        obj["metadata"]["swarm"]["claim"]["token"] = "9/k3v9qd7m.w2.1"
        obj["metadata"]["swarm"]["attempts"] = 7

    by_hand(team, "1", forge)
    assert swept(store) == [("1", "put_back")]
    assert reverted(team)[0].data["fields"] == "attempts claim"
    check_tasks(team)


def test_finished_task_stays_finished(team: Team, store: TaskStore) -> None:
    add(store)
    claim = claim_task(team, "w1").claim
    assert claim is not None
    team.tasks("w1").complete("1", claim.token, RESULT)
    by_hand(team, "1", {"status": "pending"})
    by_hand(team, "1", lambda obj: obj["metadata"]["swarm"].update(verify=["true"]))
    assert swept(store) == [("1", "put_back")]
    assert reverted(team)[0].data["fields"] == "verify status"
    assert store.table().get("1").status == "completed"
    check_tasks(team)


def test_owner_given_by_hand_assigns_the_task(team: Team, store: TaskStore) -> None:
    add(store)
    by_hand(team, "1", {"owner": "w2"})
    store.sweep()
    task = store.table().get("1")
    assert (task.owner, task.requires) == ("w2", Requires(agent="w2"))
    refused = store.claim("w1", None, RUN_OF["w1"], "1")
    assert isinstance(refused, Refusal)
    check_tasks(team)


def test_task_for_somebody_else_is_not_started_by_hand(team: Team, store: TaskStore) -> None:
    add(store, requires=Requires(role="builder"))
    by_hand(team, "1", {"status": "in_progress", "owner": "alice"})
    assert swept(store) == [("1", "put_back")]
    by_hand(team, "1", {"status": "in_progress", "owner": "builder-2"})
    assert swept(store) == [("1", "adopted")]
    check_tasks(team)


def test_links_added_and_removed_by_hand_are_mirrored(team: Team, store: TaskStore) -> None:
    for _ in range(3):
        add(store)
    store.link("1", "2")
    by_hand(team, "2", {"blockedBy": ["3"]})
    store.sweep()
    assert [task.blocks for task in store.list_tasks()] == [(), (), ("2",)]
    by_hand(team, "1", {"blocks": ["3"]})
    store.sweep()
    assert store.get_task("3").blocked_by == ("1",)
    by_hand(team, "1", {"blocks": []})
    store.sweep()
    assert store.get_task("3").blocked_by == ()
    check_tasks(team)


def test_link_written_on_both_sides_is_one_line(team: Team, store: TaskStore) -> None:
    add(store)
    add(store)
    by_hand(team, "1", {"blocks": ["2"], "subject": "first"})
    by_hand(team, "2", {"blockedBy": ["1"], "subject": "second"})
    store.sweep()
    assert [op for op, _ in ops_of(team)] == ["new", "new", "edge", "edit", "edit"]
    check_tasks(team)


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


def test_one_edit_may_change_everything_at_once(team: Team, store: TaskStore) -> None:
    add(store)
    add(store)
    by_hand(team, "2", {"subject": "new", "blockedBy": ["1"], "status": "cancelled", "x": 1})
    store.sweep()
    task = store.table().get("2")
    assert (task.subject, task.blocked_by, task.status, task.extra) == ("new", ("1",), "cancelled", {"x": 1})
    with pytest.raises(TaskError):
        store.edit("2", {"owner": "w1"})
    check_tasks(team)


@pytest.mark.parametrize("metadata", [{}, {"note": "later"}])
def test_number_that_the_journal_has_lost_is_replaced(
    team: Team, store: TaskStore, metadata: dict[str, str]
) -> None:
    add(store)

    def later(obj: dict[str, Any]) -> None:
        obj["metadata"] |= metadata
        obj["metadata"]["swarm"]["seq"] = 9

    by_hand(team, "1", later)
    assert swept(store) == [("1", "adopted" if metadata else "restored")]
    assert store.table().get("1").metadata == metadata
    check_tasks(team)


def test_link_to_a_task_deleted_since_is_no_longer_there_to_remove(team: Team, store: TaskStore) -> None:
    add(store)
    add(store, blocked_by=("1",))
    old = raw(team, "2")
    store.delete("1", unlink=True)
    Path(team.layout.task("2")).write_text(json.dumps(old | {"blockedBy": []}))
    assert swept(store) == [("2", "restored")]
    assert len(ops_of(team)) == 3
    check_tasks(team)


def test_blocker_completed_by_hand_lets_the_next_claim_through(team: Team, store: TaskStore) -> None:
    """Also where no leader sweeps: who would get nothing looks around first."""
    add(store)
    add(store, blocked_by=("1",))
    by_hand(team, "1", {"status": "in_progress", "owner": "alice"})
    store.sweep()
    assert isinstance(store.claim("w1", None, RUN_OF["w1"]), Refusal)
    by_hand(team, "1", {"status": "completed"})
    assert claim_task(team, "w1").id == "2"
    check_tasks(team)


def test_check_that_runs_nothing_is_put_back(team: Team, store: TaskStore) -> None:
    """A command would have refused it, and the task would count as verified."""
    task_id = add(store)
    by_hand(team, task_id, lambda obj: obj["metadata"]["swarm"].update(verify=[""]))
    assert swept(store) == [(task_id, "put_back")]
    assert reverted(team)[0].data["fields"] == "verify"
    make_by_hand(team, "7", metadata={"swarm": {"verify": ["true", "#"]}})
    assert swept(store) == [("7", "adopted")]
    assert store.get_task("7").verify == ("true",)
    check_tasks(team)
