"""Other hands change task files: clients that know no journal, and people with an editor."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from swarm.core.operations import Refusal
from swarm.core.task import Requires
from swarm.errors import TaskError
from swarm.storage.tasks import TaskStore
from swarm.storage.team import Team
from tests.support.stores import RESULT, RUN_OF, check_tasks, claim_task, reopened
from tests.unit.storage.hands import add, by_hand, make_by_hand, ops_of, raw, reverted, swept


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


def test_whose_word_a_text_is_cannot_be_changed_by_hand(team: Team, store: TaskStore) -> None:
    add(store)
    team.tasks("w1").edit("1", {"description": "as w1 says"})
    assert raw(team, "1")["metadata"]["swarm"]["text_by"] == "w1"

    swarm = raw(team, "1")["metadata"]["swarm"] | {"text_by": "user", "created_by": "w2"}
    by_hand(team, "1", {"metadata": {"swarm": swarm}})

    assert swept(store) == [("1", "put_back")]
    assert (store.get_task("1").text_by, store.get_task("1").created_by) == ("w1", "user")
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
