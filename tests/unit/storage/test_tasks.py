"""What each operation on tasks writes, and what it refuses."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from swarm.core.operations import Refusal
from swarm.core.task import Requires, Task
from swarm.errors import CycleError, NotFoundError, TaskError
from swarm.settings import Settings
from swarm.storage.tasks import TaskStore
from swarm.storage.team import Team
from swarm.testing.clock import FakeClock
from tests.support.stores import RESULT, RUN_OF, check_tasks, claim_task, make_team, reopened
from tests.unit.storage.steps import add, kinds, lines_of


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
