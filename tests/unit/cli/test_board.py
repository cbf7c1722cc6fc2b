"""What is shown of a task is worked out by the rule that decides claims."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from swarm.cli.board import Board, list_object, style, symbol, task_object
from swarm.core.task import Claim, Requires, Task, TaskResult


def a_task(number: int, status: str = "pending", *, after: tuple[int, ...] = (), **more: Any) -> Task:
    return Task(
        id=str(number), subject=f"task {number}", status=status, blocked_by=tuple(map(str, after)), **more
    )


def states(*tasks: Task) -> list[str]:
    return [shown.state for shown in Board(tasks).tasks]


def test_only_completion_unblocks() -> None:
    for status in ("pending", "in_progress", "failed", "cancelled"):
        assert states(a_task(1, status), a_task(2, after=(1,)))[1] == "blocked"
    assert states(a_task(1, "completed"), a_task(2, after=(1,)))[1] == "ready"


def test_a_blocker_that_is_not_there_blocks() -> None:
    """Claims see it so; showing the task as ready would be a lie."""
    assert states(a_task(2, after=(1,))) == ["blocked"]


def test_the_edge_to_a_finished_blocker_stays_but_is_not_open() -> None:
    shown = Board([a_task(1, "completed"), a_task(2, after=(1,))]).tasks[1]

    assert list_object(shown)["blockedBy"] == ["1"]
    assert list_object(shown)["open_blockers"] == []
    assert shown.remark == ""


def test_counts_tell_ready_from_blocked() -> None:
    board = Board([a_task(1, "in_progress"), a_task(2, after=(1,)), a_task(3), a_task(4, "failed")])

    assert board.counts() == {
        "pending": 2,
        "ready": 1,
        "blocked": 1,
        "in_progress": 1,
        "completed": 0,
        "failed": 1,
        "cancelled": 0,
    }


def test_a_list_entry_leaves_out_what_is_not_there() -> None:
    shown = Board([a_task(7, key="api", after=(3,))]).tasks[0]

    assert list_object(shown) == {
        "id": "7",
        "key": "api",
        "subject": "task 7",
        "status": "pending",
        "blockedBy": ["3"],
        "open_blockers": ["3"],
        "ready": False,
    }


def test_one_task_is_its_file_and_what_follows() -> None:
    claim = Claim(agent="w1@demo", run_id="r.w1.cli", token="9/r.w1.cli", at="2026-11-30T12:31:02.400Z")
    task = a_task(
        7, "completed", owner="w1", verify=("true",), claim=claim, result=TaskResult(summary="done")
    )

    shown = task_object(Board([task]).tasks[0])

    assert shown["metadata"]["swarm"]["result"]["summary"] == "done"
    assert (shown["ready"], shown["verified"], shown["open_blockers"]) == (False, True, [])


def test_an_owner_may_be_a_role() -> None:
    def owner(task: Task) -> str:
        return Board([task]).tasks[0].owner

    assert owner(a_task(1, owner="w1", requires=Requires(role="builder"))) == "w1"
    assert owner(a_task(1, requires=Requires(role="builder"))) == "any builder"
    assert owner(a_task(1, requires=Requires(agent="w2"))) == "w2"
    assert owner(a_task(1)) == ""


def test_remarks_say_what_holds_a_task_back() -> None:
    remarks = [
        shown.remark
        for shown in Board(
            [a_task(1, "failed", reason="broke"), a_task(2, after=(1,)), a_task(3, reason="given back")]
        ).tasks
    ]

    assert remarks == ["broke", "waits for 1", ""]


def test_a_task_behind_a_failed_one_is_stuck() -> None:
    board = Board([a_task(1, "failed"), a_task(2, after=(1,)), a_task(3, after=(2,)), a_task(4)])

    assert board.stuck() == {"2", "3"}


def test_a_task_behind_one_that_goes_on_is_not_stuck() -> None:
    board = Board([a_task(3, after=(2,)), a_task(2, after=(1,)), a_task(1, "in_progress")])

    assert board.stuck() == frozenset()


def test_a_task_that_nobody_is_left_for_is_stuck_with_all_behind_it() -> None:
    board = Board([a_task(1), a_task(2, after=(1,)), a_task(3), a_task(4, after=(3,)), a_task(5, after=(3,))])

    assert board.stuck() == frozenset()
    assert board.stuck(without={"1", "5"}) == {"1", "2", "5"}


def test_tasks_that_wait_for_each_other_are_stuck_and_named() -> None:
    board = Board([a_task(1, after=(2,)), a_task(2, after=(1,)), a_task(3, after=(1,))])

    assert board.stuck() == {"1", "2", "3"}
    assert board.find_loop() == ("1", "2", "1")


def test_a_task_that_waits_for_itself_is_a_loop() -> None:
    assert Board([a_task(1, after=(1,))]).find_loop() == ("1", "1")


def test_no_loop_is_found_where_there_is_none() -> None:
    assert Board([a_task(1), a_task(2, after=(1,)), a_task(3, after=(1, 2))]).find_loop() is None


@given(st.lists(st.tuples(st.integers(1, 7), st.integers(1, 7)), max_size=14))
def test_whatever_the_links_looking_at_them_ends(links: list[tuple[int, int]]) -> None:
    """A loop planted by hand must not hang who looks; what is stuck is what no order of work can reach."""
    tasks = [a_task(n, after=tuple(a for a, b in links if b == n)) for n in range(1, 8)]
    board = Board(tasks)

    assert bool(board.stuck()) == bool(board.find_loop())


def test_every_state_has_a_symbol_in_any_encoding() -> None:
    for state in ("ready", "blocked", "in progress", "completed", "failed", "cancelled"):
        assert symbol(state, unicode=False).isascii()
        assert symbol(state, unicode=True) != symbol(state, unicode=False)
        assert style(state)
