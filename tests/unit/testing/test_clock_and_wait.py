from __future__ import annotations

import time

import pytest

from swarm.storage.clock import SystemClock
from swarm.testing.clock import FakeClock
from swarm.testing.wait import eventually, wait_until


def test_fake_time_moves_only_when_told() -> None:
    clock = FakeClock(1000.0)
    before = clock.monotonic()
    clock.advance(2.5)
    assert clock.now() == 1002.5
    assert clock.monotonic() - before == 2.5
    with pytest.raises(ValueError):
        clock.advance(-1)


def test_system_clock_tells_the_time_of_the_machine() -> None:
    clock = SystemClock()
    assert abs(clock.now() - time.time()) < 1
    assert abs(clock.monotonic() - time.monotonic()) < 1


def test_wait_returns_the_first_true_result() -> None:
    answers = iter([0, "", 7])
    assert wait_until(lambda: next(answers)) == 7


def test_wait_that_fails_says_what_did_not_hold() -> None:
    with pytest.raises(TimeoutError, match=r"the door is open did not hold within 0\.02s; last seen: 0"):
        wait_until(lambda: 0, timeout=0.02, what="the door is open")


async def test_waiting_in_the_event_loop_takes_both_kinds_of_conditions() -> None:
    async def yes() -> int:
        return 5

    answers = iter([0, 7])
    assert await eventually(lambda: next(answers)) == 7
    assert await eventually(yes) == 5
    with pytest.raises(TimeoutError, match="the door"):
        await eventually(lambda: 0, timeout=0.02, what="the door")
