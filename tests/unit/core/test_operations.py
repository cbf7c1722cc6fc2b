from __future__ import annotations

from typing import Any

import pytest

from swarm.core import operations
from swarm.core.operations import Refusal
from swarm.core.task import Requires, TaskResult
from swarm.errors import EXIT_CODES, NotFoundError, SwarmError, TaskError
from tests.support.journaled import AT, Journaled, run_of

DONE = TaskResult(summary="Done.")


@pytest.fixture
def journal() -> Journaled:
    return Journaled()


def refused_claim(journal: Journaled, name: str, task_id: str | None, role: str | None = None) -> Refusal:
    outcome = operations.claim(journal.table, name, role, run_of(name), task_id)
    assert isinstance(outcome, Refusal)
    assert outcome.code in EXIT_CODES
    return outcome


# Claim


def test_a_claim_line_names_claimer_and_life(journal: Journaled) -> None:
    """Whoever asks for it: the claimer is the author."""
    journal.add()
    body = operations.claim(journal.table, "w1", None, run_of("w1"))
    assert isinstance(body, dict)

    assert operations.stamp(body, 2, AT, "user") == {
        "seq": 2, "op": "claim", "at": AT, "by": "w1", "id": "1", "run": "k3v9qd7m.w1.1",
    }  # fmt: skip


def test_a_claim_makes_owner_claim_and_token(journal: Journaled) -> None:
    journal.add()
    token = journal.claim("w1")
    task = journal.task("1")

    assert (task.status, task.owner, token) == ("in_progress", "w1", "2/k3v9qd7m.w1.1")


def test_four_wrong_claims_give_four_answers(journal: Journaled) -> None:
    for _ in range(4):
        journal.add()
    journal.write(operations.link(journal.table, "1", "2"))
    journal.finish("3", "w3")
    journal.claim("w4", "4")

    with pytest.raises(NotFoundError, match="no task 999"):
        operations.claim(journal.table, "w1", None, run_of("w1"), "999")
    finished, blocked, taken = (refused_claim(journal, "w1", task_id) for task_id in ("3", "2", "4"))
    assert [finished.code, blocked.code, taken.code] == ["finished", "blocked", "taken"]
    assert finished.message == "task 3 is completed"
    assert blocked.message == "task 2 waits for task 1 (pending)"
    assert blocked.details == {"task": "2", "open_blockers": ["1"]}
    assert taken.message == "w4 works on task 4"
    assert taken.details == {"task": "4", "owner": "w4"}


def test_a_blocked_claim_says_who_is_on_the_blocker(journal: Journaled) -> None:
    journal.add()
    journal.add(blocked_by=("1",))
    journal.claim("w2", "1")

    assert refused_claim(journal, "w1", "2").message == "task 2 waits for task 1 (in_progress, w2)"


def test_a_blocker_that_is_gone_is_said_to_be_missing(journal: Journaled) -> None:
    task = {"id": "5", "subject": "x", "status": "pending", "blockedBy": ["4"]}
    journal.table.apply({"op": "snap", "task": task})

    assert refused_claim(journal, "w1", "5").message == "task 5 waits for task 4 (missing)"


def test_an_agent_works_on_one_task_at_a_time(journal: Journaled) -> None:
    journal.add()
    journal.add()
    journal.claim("w1", "1")

    for task_id in (None, "2", "1"):
        refusal = refused_claim(journal, "w1", task_id)
        assert refusal.code == "agent_busy"
        assert refusal.details == {"agent": "w1", "task": "1"}


def test_a_task_for_others_is_refused_with_whom_it_is_for(journal: Journaled) -> None:
    journal.add(requires=Requires(agent="w2"))
    journal.add(requires=Requires(role="builder"))

    for task_id, wanted in (("1", "w2"), ("2", "a builder")):
        refusal = refused_claim(journal, "w1", task_id)
        assert refusal.code == "requires_unmet"
        assert refusal.message == f"task {task_id} is for {wanted}, not for w1"
    assert refused_claim(journal, "w1", None).code == "nothing_ready"
    assert journal.claim("builder-1", "2", role="builder")


def test_a_task_that_another_client_assigned_is_taken(journal: Journaled) -> None:
    journal.table.apply(
        {"op": "snap", "task": {"id": "5", "subject": "x", "status": "pending", "owner": "w2"}}
    )

    refusal = refused_claim(journal, "w1", "5")
    assert (refusal.code, refusal.message) == ("taken", "w2 is assigned task 5")


def test_a_task_whose_files_are_in_use_waits(journal: Journaled) -> None:
    journal.add(files=("api/**",))
    journal.add(files=("api/users.py",))
    journal.claim("w1", "1")

    refusal = refused_claim(journal, "w2", "2")
    assert refusal.code == "files_overlap"
    assert refusal.details == {"task": "2", "overlapping": ["1"]}
    assert refused_claim(journal, "w2", None).code == "nothing_ready"


def test_nothing_ready_says_how_things_stand(journal: Journaled) -> None:
    journal.add()
    journal.add(blocked_by=("1",))
    journal.claim("w2")

    refusal = refused_claim(journal, "w1", None)
    assert refusal.message == "no task is ready for w1 (0 ready, 1 blocked, 1 in_progress)"
    assert refusal.details == {"agent": "w1", "tasks": journal.table.counts()}


# Ends


def test_completion_keeps_the_claim_and_forgets_old_reasons(journal: Journaled) -> None:
    journal.add()
    token = journal.claim("w1")
    journal.write(operations.end_attempt(journal.table, "1", token, "verify failed", 3), "w1")
    token = journal.finish("1")
    task = journal.task("1")

    assert (task.status, task.owner, task.result) == ("completed", "w1", DONE)
    assert (task.reason, task.attempts) == (None, 1)
    assert task.claim is not None
    assert task.claim.token == token


def test_an_end_that_was_written_already_may_be_repeated(journal: Journaled) -> None:
    """The process may have died between writing the line and hearing of it."""
    journal.add()
    journal.add()
    token = journal.finish("1")
    failing = journal.claim("w1", "2")
    journal.write(operations.fail(journal.table, "2", failing, "no luck"))

    assert operations.complete(journal.table, "1", token, DONE) is None
    assert operations.fail(journal.table, "2", failing, "no luck") is None


ENDINGS: dict[str, Any] = {
    "complete": lambda table, token: operations.complete(table, "1", token, DONE),
    "fail": lambda table, token: operations.fail(table, "1", token, "no luck"),
    "end_attempt": lambda table, token: operations.end_attempt(table, "1", token, "no luck", 3),
    "release": lambda table, token: operations.release(table, "1", token, "later"),
}


@pytest.mark.parametrize("how", ENDINGS)
def test_a_claim_that_was_taken_away_ends_nothing(how: str) -> None:
    """The worker was stopped, given up for dead, and goes on; the task is free, or somebody else's."""
    journal = Journaled()
    journal.add()
    stale = journal.claim("w1")
    journal.write(operations.free_dead(journal.table, "1", run_of("w1"), "w1 died", 5), "runtime")

    for _ in range(2):
        with pytest.raises(TaskError) as refused:
            ENDINGS[how](journal.table, stale)
        assert refused.value.code == "stale_token"
        assert refused.value.details["task"] == "1"
        if journal.task("1").status == "pending":
            journal.claim("w2")
    assert journal.task("1").owner == "w2"


@pytest.mark.parametrize("how", ENDINGS)
def test_a_claim_that_was_cancelled_ends_nothing(how: str) -> None:
    journal = Journaled()
    journal.add()
    token = journal.claim("w1")
    journal.write(operations.cancel(journal.table, "1", "not wanted"))

    with pytest.raises(TaskError, match="task 1 is cancelled already") as refused:
        ENDINGS[how](journal.table, token)
    assert refused.value.code == "finished"


@pytest.mark.parametrize("how", ENDINGS)
def test_a_task_that_nobody_claimed_ends_by_no_token(how: str) -> None:
    journal = Journaled()
    journal.add()

    with pytest.raises(TaskError, match="owner nobody") as refused:
        ENDINGS[how](journal.table, "1/r.w1.1")
    assert refused.value.code == "stale_token"


def test_a_reason_is_one_line_and_never_missing(journal: Journaled) -> None:
    journal.add()
    journal.write(operations.fail(journal.table, "1", journal.claim("w1"), "two\n lines "))
    journal.add()
    journal.write(operations.fail(journal.table, "2", journal.claim("w1"), " \n"))

    assert journal.task("1").reason == "two lines"
    assert journal.task("2").reason == "no reason given"


def test_the_last_attempt_parks_a_task(journal: Journaled) -> None:
    journal.add()
    for attempts in (1, 2, 3):
        token = journal.claim("w1")
        journal.write(operations.end_attempt(journal.table, "1", token, "verify failed", 3))
        assert journal.task("1").attempts == attempts
        assert journal.task("1").status == ("pending" if attempts < 3 else "failed")

    assert journal.task("1").reason == "parked: verify failed"
    assert journal.task("1").claim is not None


def test_deaths_count_apart_and_the_last_one_parks(journal: Journaled) -> None:
    journal.add()
    for crashes in (1, 2):
        journal.claim("w1")
        journal.write(operations.free_dead(journal.table, "1", run_of("w1"), "w1 died", 2), "runtime")
        assert (journal.task("1").crashes, journal.task("1").attempts) == (crashes, 0)

    assert (journal.task("1").status, journal.task("1").reason) == ("failed", "parked: w1 died")


def test_only_the_life_that_holds_a_task_can_lose_it(journal: Journaled) -> None:
    """A restarted agent's claim is not freed for the death of its earlier life."""
    journal.add()
    assert operations.free_dead(journal.table, "1", run_of("w1"), "died", 5) is None
    journal.claim("w1", life=2)

    assert operations.free_dead(journal.table, "1", run_of("w1", 1), "died", 5) is None
    journal.write(operations.complete(journal.table, "1", journal.token("1"), DONE))
    assert operations.free_dead(journal.table, "1", run_of("w1", 2), "died", 5) is None


def test_a_release_gives_the_task_back_to_whom_it_was_meant_for(journal: Journaled) -> None:
    journal.add(requires=Requires(agent="w1"))
    journal.add()
    assert journal.task("1").owner == "w1"
    for task_id, owner in (("1", "w1"), ("2", None)):
        token = journal.claim("w1", task_id)
        journal.write(operations.release(journal.table, task_id, token, "later"))
        task = journal.task(task_id)
        assert (task.status, task.owner, task.claim, task.reason) == ("pending", owner, None, "later")
        assert (task.attempts, task.crashes) == (0, 0)


def test_a_death_leaves_nobody_as_owner(journal: Journaled) -> None:
    """The one it was meant for is gone; restarted, it may still take the task."""
    journal.add(requires=Requires(agent="w1"))
    journal.claim("w1")
    journal.write(operations.free_dead(journal.table, "1", run_of("w1"), "died", 5))

    assert journal.task("1").owner is None
    assert refused_claim(journal, "w2", "1").code == "requires_unmet"
    assert journal.claim("w1", life=2)


# A person's decisions


def test_cancelling_needs_no_claim_and_may_be_repeated(journal: Journaled) -> None:
    journal.add()
    body = operations.cancel(journal.table, "1", "not wanted")
    journal.write(body)

    assert body == {"op": "done", "id": "1", "status": "cancelled", "reason": "not wanted"}
    assert operations.cancel(journal.table, "1", "again") is None
    assert journal.task("1").reason == "not wanted"


def test_what_is_done_cannot_be_cancelled_or_retried(journal: Journaled) -> None:
    journal.add()
    journal.finish("1")

    for decide in (
        lambda: operations.cancel(journal.table, "1", "x"),
        lambda: operations.retry(journal.table, "1"),
    ):
        with pytest.raises(TaskError) as refused:
            decide()
        assert refused.value.code == "finished"


@pytest.mark.parametrize("end", ["fail", "cancel"])
def test_a_retry_starts_clean(end: str) -> None:
    journal = Journaled()
    journal.add(requires=Requires(agent="w1"))
    journal.write(operations.end_attempt(journal.table, "1", journal.claim("w1"), "verify failed", 3))
    journal.claim("w1")
    journal.write(operations.free_dead(journal.table, "1", run_of("w1"), "died", 5))
    token = journal.claim("w1")
    if end == "fail":
        journal.write(operations.fail(journal.table, "1", token, "no luck"))
    else:
        journal.write(operations.cancel(journal.table, "1", "no"))
    journal.write(operations.retry(journal.table, "1"))
    task = journal.task("1")

    assert (task.status, task.owner, task.attempts, task.crashes) == ("pending", "w1", 0, 0)
    assert (task.claim, task.result, task.reason) == (None, None, None)
    assert "token" not in journal.lines[-1]
    assert operations.retry(journal.table, "1") is None
    with pytest.raises(TaskError) as refused:
        operations.complete(journal.table, "1", token, DONE)
    assert refused.value.code == "stale_token"


def test_what_runs_cannot_be_retried(journal: Journaled) -> None:
    journal.add()
    journal.claim("w1")

    with pytest.raises(TaskError, match="w1 works on task 1") as refused:
        operations.retry(journal.table, "1")
    assert refused.value.code == "in_progress"


def test_the_owner_need_not_know_the_token(journal: Journaled) -> None:
    """At the command line a person speaks for the owner."""
    journal.add()
    token = journal.claim("w1")
    assert operations.current_token(journal.table, "1", "w1") == token
    journal.write(operations.complete(journal.table, "1", token, DONE))

    assert operations.current_token(journal.table, "1", "w1") == token


def test_others_do_not_own_a_task(journal: Journaled) -> None:
    journal.add()
    journal.add(requires=Requires(agent="w1"))
    journal.claim("w2", "1")

    for task_id, why in (("1", "w2 has it"), ("2", "nobody has claimed it")):
        with pytest.raises(TaskError, match=f"task {task_id} is not w1's: {why}") as refused:
            operations.current_token(journal.table, task_id, "w1")
        assert refused.value.code == "not_owner"


@pytest.mark.parametrize(
    "decide",
    [
        lambda table: operations.complete(table, "999", "t", DONE),
        lambda table: operations.fail(table, "999", "t", "x"),
        lambda table: operations.end_attempt(table, "999", "t", "x", 3),
        lambda table: operations.release(table, "999", "t", "x"),
        lambda table: operations.free_dead(table, "999", "r.w1.1", "x", 5),
        lambda table: operations.cancel(table, "999", "x"),
        lambda table: operations.retry(table, "999"),
        lambda table: operations.edit(table, "999", {}, {}),
        lambda table: operations.unlink(table, "1", "999"),
        lambda table: operations.link(table, "1", "999"),
        lambda table: operations.delete(table, "999"),
        lambda table: operations.current_token(table, "999", "w1"),
    ],
)
def test_an_unknown_task_is_not_found_by_any_decision(decide: Any) -> None:
    journal = Journaled()
    journal.add()

    with pytest.raises(SwarmError) as missing:
        decide(journal.table)
    assert (missing.value.code, missing.value.exit_code) == ("no_such_task", 3)


def test_a_claim_by_hand_under_the_name_of_one_at_work_in_another_case(journal: Journaled) -> None:
    """They would be one agent with two tasks. Names of workers are given out by the roster."""
    for _ in range(2):
        journal.add()
    journal.claim("bob")
    by_hand = operations.claim(journal.table, "BOB", None, "k3v9qd7m.BOB.cli")
    assert isinstance(by_hand, Refusal)
    assert (by_hand.code, by_hand.details) == ("bad_name", {"value": "BOB", "suggestion": "bob"})
    assert isinstance(operations.claim(journal.table, "BOB", None, run_of("BOB")), dict)
