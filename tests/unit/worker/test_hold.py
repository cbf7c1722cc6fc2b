"""What holds an agent back, and what it only waits for."""

from __future__ import annotations

import asyncio

from worker.hold import PAUSED, RATE_LIMIT, Hold


def made(stop: asyncio.Event | None = None) -> tuple[Hold, list[object]]:
    told: list[object] = []
    hold = Hold(
        told.append,
        lambda: told.append("goes on"),
        lambda reason, seconds: told.append((reason, seconds)),
        lambda on, until: told.append(f"asks {on} until {until}"),
        stop or asyncio.Event(),
    )
    return hold, told


async def test_a_wait_is_told_once_and_ends_once() -> None:
    hold, told = made()

    hold.begin_wait(RATE_LIMIT, 3.0)
    hold.end_wait()
    hold.end_wait()

    assert told == [("rate_limit", 3.0), "goes on"]
    assert hold.reason is None


async def test_who_is_stopped_goes_on_with_nothing() -> None:
    stop = asyncio.Event()
    hold, told = made(stop)
    hold.begin_question("q1", "then")

    stop.set()
    hold.end_question("q1")

    assert told == ["asks q1 until then"]


async def test_a_wait_holds_nothing_back() -> None:
    hold, told = made()
    hold.begin_wait(RATE_LIMIT, 3.0)

    await asyncio.wait_for(hold.passed(asyncio.Event()), timeout=1)

    assert told == [("rate_limit", 3.0)]


async def test_a_pause_holds_until_it_is_lifted() -> None:
    hold, told = made()
    hold.put(PAUSED)
    passing = asyncio.create_task(hold.passed(asyncio.Event()))
    await asyncio.sleep(0)
    assert not passing.done()

    hold.lift(PAUSED)
    await asyncio.wait_for(passing, timeout=1)

    assert told == ["paused", "goes on"]


def test_of_several_questions_the_oldest_is_told_until_none_is_left() -> None:
    hold, told = made()
    hold.begin_question("q1", "noon")
    hold.begin_question("q2", "one")
    hold.end_question("q1")
    hold.end_question("q1")
    hold.end_question("q2")
    assert told == ["asks q1 until noon", "asks q2 until one", "goes on"]


def test_question_is_told_again_when_another_wait_is_over() -> None:
    hold, told = made()
    hold.begin_question("q1", "noon")
    hold.begin_wait(RATE_LIMIT, 3.0)
    hold.end_wait()
    hold.end_question("q1")
    assert told == ["asks q1 until noon", ("rate_limit", 3.0), "asks q1 until noon", "goes on"]


def test_other_wait_goes_on_when_the_question_is_answered() -> None:
    hold, told = made()
    hold.begin_question("q1", "noon")
    hold.begin_wait(RATE_LIMIT, 3.0)
    hold.end_question("q1")
    hold.end_wait()
    assert told == ["asks q1 until noon", ("rate_limit", 3.0), "goes on"]
