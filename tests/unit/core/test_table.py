from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import pytest

from swarm.core import operations
from swarm.core.journal import render_line
from swarm.core.table import TaskTable
from swarm.core.task import NewTask, Requires, Task, render_task
from swarm.errors import NotFoundError
from tests.support.journaled import AT, Journaled, run_of


@pytest.fixture
def journal() -> Journaled:
    return Journaled()


def test_an_empty_table_answers_everything(journal: Journaled) -> None:
    table = journal.table

    assert (table.seq, table.gen, table.next_id, table.tasks()) == (0, 0, 1, ())
    assert table.lowest_claimable("w1", None) is None
    assert set(table.counts().values()) == {0}


def test_an_unknown_task_is_an_error(journal: Journaled) -> None:
    with pytest.raises(NotFoundError, match="no task 999 in team demo") as error:
        journal.table.get("999")

    assert error.value.code == "no_such_task"
    assert journal.table.find("999") is None


def test_tasks_come_in_numeric_order(journal: Journaled) -> None:
    for _ in range(11):
        journal.add()
    journal.write(operations.edit(journal.table, "2", {"subject": "Later"}, {}))

    assert journal.table.ids() == tuple(map(str, range(1, 12)))
    assert journal.table.ready_ids() == journal.table.ids()


def test_only_completion_unblocks(journal: Journaled) -> None:
    """A failed or cancelled blocker leaves its dependents waiting, until it is retried and done."""
    first, second = journal.add(), journal.add(blocked_by=("1",))
    journal.write(operations.cancel(journal.table, first, "no"))

    assert journal.table.open_blockers(second) == (first,)
    assert not journal.table.is_ready(second)
    journal.write(operations.retry(journal.table, first))
    journal.finish(first)
    assert journal.table.open_blockers(second) == ()
    assert journal.table.is_ready(second)


def test_applying_says_what_was_touched(journal: Journaled) -> None:
    first, second = journal.add(), journal.add()
    third = journal.table.next_id
    body = operations.create(journal.table, NewTask(subject="x", blocked_by=(second, first)), AT, "user")

    assert journal.write(body) == (str(third), second, first)
    assert journal.task(first).blocks == (str(third),)
    assert journal.task(first).seq == journal.table.seq
    assert journal.write(operations.unlink(journal.table, first, str(third))) == (str(third), first)
    assert journal.write(operations.delete(journal.table, str(third))) == (str(third), second)
    assert journal.task(second).blocks == ()


def test_a_known_line_changes_nothing(journal: Journaled) -> None:
    task_id = journal.add()
    journal.finish(task_id)
    before = journal.table.tasks()

    assert [journal.table.apply(line) for line in journal.lines] == [(), (), ()]
    assert journal.table.tasks() == before


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ({"seq": 3, "op": "claim"}, "line 3 follows line 1"),
        ({"seq": 2, "op": "dance"}, "operation 'dance'"),
        ({"seq": 2, "op": "claim", "id": "9", "at": AT, "by": "w1", "run": "r.w1.1"}, "speaks of task 9"),
        ({"seq": 2, "op": "claim", "id": "1", "at": AT, "by": "w1"}, "lacks 'run'"),
        ({"seq": 2, "op": "edge", "a": "1", "b": "9", "add": True, "at": AT}, "speaks of task 9"),
        ({"seq": 2, "op": "new", "at": AT, "task": {"id": "x"}}, "id should be"),
        ({"seq": 2}, "lacks 'op'"),
        ({"op": "claim", "id": "1", "at": AT, "by": "w1", "run": "r.w1.1"}, "lacks 'seq'"),
        ({"op": "head", "gen": 2}, "seq should be"),
    ],
)
def test_a_line_that_cannot_be_true_changes_nothing(line: Mapping[str, Any], why: str) -> None:
    journal = Journaled()
    journal.add()
    before = (journal.table.tasks(), journal.table.seq)

    with pytest.raises(ValueError, match=why):
        journal.table.apply(line)
    assert (journal.table.tasks(), journal.table.seq) == before


def test_what_nobody_asked_for_is_told_in_full_when_somebody_does(journal: Journaled) -> None:
    first, second = journal.add(), journal.add(files=("a.py",))
    behind = journal.add(blocked_by=(first,))
    journal.finish(first)
    journal.claim("w2", second)
    reader = TaskTable("demo")
    for line in journal.lines:
        reader.apply(line, render_line(line))
    assert reader.counts() == journal.table.counts()
    assert reader.in_progress_of("w2") == (second,)
    assert reader.lowest_claimable("w1", None) == behind
    assert reader.tasks() == journal.table.tasks()
    result = reader.get(first).result
    assert result is not None
    assert result.summary == "Done."


def test_a_deleted_task_stays_gone_whatever_was_still_to_be_told_of_it(journal: Journaled) -> None:
    gone = journal.add()
    journal.finish(gone)
    journal.write(operations.delete(journal.table, gone))
    reader = TaskTable("demo")
    for line in journal.lines:
        reader.apply(line, render_line(line))
    assert reader.find(gone) is None
    assert reader.tasks() == ()


@pytest.mark.parametrize(
    "result",
    [None, [], {}, {"summary": 1}, {"summary": "x", "files": "a"}, {"summary": "x", "files": [1]}],
    ids=repr,
)
def test_a_completion_with_a_senseless_result_is_refused_at_once(journal: Journaled, result: Any) -> None:
    task_id = journal.add()
    token = journal.claim("w1", task_id)
    line: dict[str, Any] = {"seq": 3, "op": "done", "at": AT, "by": "w1", "id": task_id, "token": token}
    line |= {"status": "completed", "result": result}
    with pytest.raises(ValueError, match="should be"):
        journal.table.apply(line, render_line(line))
    assert journal.table.get(task_id).status == "in_progress"


def test_a_rewritten_journal_gives_the_same_table(journal: Journaled) -> None:
    """A head and one snapshot for each task, in any order; numbering goes on."""
    for blockers in ((), ("1",), ("1", "2"), ()):
        journal.add(blocked_by=blockers)
    journal.finish("1")
    journal.claim("w2", "4")
    old = journal.table
    new = TaskTable("demo")
    assert new.apply({"op": "head", "gen": 2, "seq": old.seq, "next": 9}) == ()
    for task in reversed(old.tasks()):
        assert new.apply({"op": "snap", "task": render_task(task)}) == (task.id,)

    assert new.tasks() == old.tasks()
    assert (new.counts(), new.ready_ids()) == (old.counts(), old.ready_ids())
    assert (new.gen, new.seq, new.next_id) == (2, old.seq, 9)
    assert new.in_progress_of("w2") == ("4",)


def test_a_blocker_that_is_not_there_holds_its_task_back() -> None:
    """Another client may have left such a link; it is shown, not guessed away."""
    table = TaskTable("demo")
    table.apply({"op": "snap", "task": render_task(Task(id="5", subject="x", blocked_by=("4", "4")))})

    assert table.open_blockers("5") == ("4", "4")
    assert not table.is_ready("5")
    table.apply({"op": "snap", "task": render_task(Task(id="4", subject="x", status="completed"))})
    assert table.is_ready("5")


def test_a_new_task_may_name_a_blocker_that_is_gone() -> None:
    table = TaskTable("demo")
    task = render_task(Task(id="5", subject="x", blocked_by=("4",)))

    assert table.apply({"seq": 1, "op": "new", "at": AT, "by": "user", "id": "5", "task": task}) == ("5",)
    assert table.apply({"seq": 2, "op": "del", "at": AT, "by": "user", "id": "5", "near": ["4"]}) == ("5",)
    assert table.next_id == 6


def test_each_agent_gets_the_lowest_task_that_is_for_it(journal: Journaled) -> None:
    journal.add(requires=Requires(agent="w2"))
    journal.add(requires=Requires(role="builder"))
    journal.add()
    journal.write(operations.edit(journal.table, "3", {"owner": "w3"}, {}))
    journal.add()

    table = journal.table
    assert table.lowest_claimable("w1", None) == "4"
    assert table.lowest_claimable("w2", None) == "1"
    assert table.lowest_claimable("w3", None) == "3"
    assert table.lowest_claimable("builder-1", "builder") == "2"
    assert table.lowest_claimable("builder", None) == "4", "a name is not a role"


def test_a_task_that_another_client_gave_to_a_role_is_for_all_of_it() -> None:
    table = TaskTable("demo")
    table.apply({"op": "snap", "task": render_task(Task(id="1", subject="x", owner="builder"))})

    assert table.lowest_claimable("builder-1", "builder") == "1"
    assert table.lowest_claimable("w1", None) is None


def test_tasks_that_write_the_same_files_do_not_run_at_once(journal: Journaled) -> None:
    journal.add(files=("api/**",))
    journal.add(files=("docs/**", "api/users.py"))
    journal.add(files=("web/**",))
    journal.add()
    journal.claim("w1", "1")

    table = journal.table
    assert table.overlapping(table.get("2")) == ("1",)
    assert table.overlapping(table.get("1")) == table.overlapping(table.get("4")) == ()
    assert table.lowest_claimable("w2", None) == "3"
    journal.write(operations.release(table, "1", journal.token("1"), "later"))
    assert table.lowest_claimable("w2", None) == "1"


def test_what_is_behind_a_cancelled_task_is_expected_again_after_its_retry(journal: Journaled) -> None:
    first = journal.add()
    second = journal.add(blocked_by=(first,))
    journal.add(blocked_by=(second,))
    table = journal.table

    journal.write(operations.cancel(table, first, "not wanted"))
    assert table.lowest_expected("w1", None) is None

    journal.write(operations.edit(table, first, {"subject": "Still cancelled"}, {}))
    assert table.lowest_expected("w1", None) is None

    journal.write(operations.retry(table, first))
    assert table.lowest_expected("w1", None) == first


def test_a_loop_is_named_from_its_new_edge(journal: Journaled) -> None:
    journal.add()
    journal.add(blocked_by=("1",))
    journal.add(blocked_by=("2",))

    assert journal.table.cycle_with("3", "1") == ("3", "1", "2", "3")
    assert journal.table.cycle_with("1", "1") == ("1", "1")
    assert journal.table.cycle_with("1", "3") is None


def test_counts_tell_ready_from_blocked(journal: Journaled) -> None:
    for blockers in ((), (), (), ("1",), ("1",)):
        journal.add(blocked_by=blockers)
    journal.claim("w1", "2")
    journal.write(operations.cancel(journal.table, "3", "no"))

    assert journal.table.counts() == {
        "pending": 3, "ready": 1, "blocked": 2, "in_progress": 1, "completed": 0, "failed": 0, "cancelled": 1,
    }  # fmt: skip


def test_a_planted_loop_hangs_nobody() -> None:
    table = TaskTable("demo")
    for task_id, blocker in (("1", "2"), ("2", "1")):
        task = Task(id=task_id, subject="x", blocks=(blocker,), blocked_by=(blocker,))
        table.apply({"op": "snap", "task": render_task(task)})

    assert table.counts()["blocked"] == 2
    assert table.lowest_claimable("w1", None) is None
    assert table.cycle_with("1", "3") is None
    assert table.open_blockers("1") == ("2",)


def test_an_agent_holds_what_it_claimed(journal: Journaled) -> None:
    journal.add()
    journal.claim("w1", life=2)

    assert journal.table.in_progress_of("w1") == ("1",)
    assert journal.table.in_progress_of("w2") == ()
    claim = journal.task("1").claim
    assert claim is not None
    assert (claim.agent, claim.token) == ("w1@demo", f"2/{run_of('w1', 2)}")


def test_a_claim_among_ten_thousand_is_as_fast_as_among_ten() -> None:
    """The others are blocked or for somebody else; neither kind is looked at."""

    def seconds_for_claims(number: int) -> float:
        table = TaskTable("demo")
        for n in range(1, number):
            requires = (Requires(agent="other"), Requires(role="other"), None)[n % 3]
            blocked_by = () if requires else ("1",)
            task = Task(id=str(n), subject="x", requires=requires, blocked_by=blocked_by)
            table.apply({"op": "snap", "task": render_task(task)})
        table.apply({"op": "snap", "task": render_task(Task(id=str(number), subject="x"))})
        start = time.perf_counter()
        for _ in range(100):
            assert table.lowest_claimable("w1", None) == str(number)
        return time.perf_counter() - start

    few, many = seconds_for_claims(10), seconds_for_claims(10_000)
    assert many < few * 20 + 0.01
