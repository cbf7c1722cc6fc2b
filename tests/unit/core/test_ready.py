from __future__ import annotations

import pytest

from swarm.core.graph import shortest_path
from swarm.core.ready import OPEN_LANE, ReadyQueue


def a_queue(*entries: tuple[int, str]) -> ReadyQueue:
    queue = ReadyQueue()
    for number, lane in entries:
        queue.add(number, lane)
    return queue


def anything(_number: int) -> bool:
    return True


def test_the_lowest_of_all_lanes_comes_first() -> None:
    queue = a_queue((7, OPEN_LANE), (3, "w1"), (2, "w2"), (5, "builder"))

    assert queue.first([OPEN_LANE, "w1", "builder"], anything) == 3
    assert queue.first(["w3"], anything) is None
    assert queue.numbers() == [2, 3, 5, 7]


def test_looking_takes_nothing_out() -> None:
    """Whoever finds a task may still lose it; and what did not fit this time may fit the next."""
    queue = a_queue((1, OPEN_LANE), (2, OPEN_LANE), (3, OPEN_LANE))

    assert queue.first([OPEN_LANE], lambda number: number > 2) == 3
    assert queue.first([OPEN_LANE], lambda _number: False) is None
    assert queue.first([OPEN_LANE], anything) == 1
    assert len(queue) == 3


def test_a_failing_look_takes_nothing_out() -> None:
    queue = a_queue((1, OPEN_LANE), (2, OPEN_LANE))

    def breaks(number: int) -> bool:
        if number == 2:
            raise RuntimeError
        return False

    with pytest.raises(RuntimeError):
        queue.first([OPEN_LANE], breaks)
    assert queue.first([OPEN_LANE], anything) == 1


def test_what_was_removed_or_moved_is_not_found_where_it_was() -> None:
    queue = a_queue((1, OPEN_LANE), (2, OPEN_LANE))
    queue.remove(1)
    queue.remove(9)
    queue.add(2, "w1")

    assert queue.first([OPEN_LANE], anything) is None
    assert queue.first(["w1"], anything) == 2
    assert 1 not in queue
    assert 2 in queue


def test_a_number_that_came_and_went_is_there_once() -> None:
    queue = a_queue((1, OPEN_LANE))
    for _ in range(3):
        queue.remove(1)
        queue.add(1, OPEN_LANE)

    assert queue.first([OPEN_LANE], lambda _number: False) is None
    assert queue.numbers() == [1]
    assert queue.first([OPEN_LANE], anything) == 1


def test_a_path_is_found_and_the_shortest_one() -> None:
    edges = {"1": ["2", "3"], "2": ["4"], "3": ["5"], "4": ["5"], "5": ["1"]}

    def neighbours(node: str) -> list[str]:
        return edges[node]

    assert shortest_path("1", "5", neighbours) == ("1", "3", "5")
    assert shortest_path("1", "1", neighbours) == ("1",)
    assert shortest_path("1", "9", neighbours) is None
