"""The claim of a task in hand: used once, and worth nothing when somebody else has ended it."""

from __future__ import annotations

import pytest

from swarm.core.task import Claim, NewTask, Task, TaskResult
from swarm.settings import Settings
from swarm.storage.tasks import TaskStore
from swarm.storage.team import create_team
from swarm.testing.clock import FakeClock
from worker.claim import ClaimLostError, HeldClaim

RUN_ID = "k3v9qd7m.w1.1"


@pytest.fixture
def store(tmp_path) -> TaskStore:
    settings = Settings(durability="none")
    team = create_team(str(tmp_path), "demo", workspace=str(tmp_path), settings=settings, clock=FakeClock())
    return team.tasks("w1")


def claimed(store: TaskStore) -> HeldClaim:
    store.create(NewTask(subject="one"))
    task = store.claim("w1", None, RUN_ID)
    assert isinstance(task, Task)
    return HeldClaim(store, task)


def test_completing_names_the_tasks_that_can_start_now(store) -> None:
    claim = claimed(store)
    (other,) = store.create(NewTask(subject="other"))
    store.create(NewTask(subject="two", blocked_by=("1",)))
    store.create(NewTask(subject="three", blocked_by=("1", other.id)))

    outcome = claim.complete(TaskResult(summary="done"))

    assert (outcome.status, outcome.summary, outcome.unblocked) == ("completed", "done", ("3",))


def test_the_last_attempt_that_ends_without_success_is_a_failure(store) -> None:
    statuses = []
    claim = claimed(store)
    for _ in range(3):
        statuses.append(claim.end_attempt("no luck").status)
        again = store.claim("w1", None, RUN_ID)
        if isinstance(again, Task):
            claim = HeldClaim(store, again)

    assert statuses == ["released", "released", "failed"]
    assert store.get_task("1").reason == "parked: no luck"


@pytest.mark.parametrize(
    "end",
    [
        lambda claim: claim.complete(TaskResult(summary="done")),
        lambda claim: claim.fail("cannot"),
        lambda claim: claim.end_attempt("no luck"),
        lambda claim: claim.release("stopped"),
        lambda claim: claim.check(),
    ],
)
@pytest.mark.parametrize(
    "meanwhile",
    [
        lambda store: store.cancel("1", "not wanted"),
        lambda store: store.free_dead("1", RUN_ID, "taken for dead"),
        lambda store: (store.cancel("1", "not wanted"), store.delete("1")),
    ],
)
def test_a_claim_that_somebody_ended_writes_nothing(store, meanwhile, end) -> None:
    claim = claimed(store)
    meanwhile(store)
    before = store.change_mark()

    with pytest.raises(ClaimLostError):
        end(claim)

    assert store.change_mark() == before


def test_a_task_that_nobody_claimed_cannot_be_held(store) -> None:
    (task,) = store.create(NewTask(subject="one"))

    with pytest.raises(ValueError, match="not claimed"):
        HeldClaim(store, task)


def test_the_token_of_the_claim_is_the_one_presented(store) -> None:
    task = claimed(store).task
    forged = task.replace(claim=Claim(agent="w1@demo", run_id=RUN_ID, token=f"99/{RUN_ID}", at=""))

    with pytest.raises(ClaimLostError):
        HeldClaim(store, forged).release("x")
    assert store.get_task("1").status == "in_progress"
