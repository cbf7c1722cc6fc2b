"""Waiting for the workspace's lock without blocking the event loop."""

from __future__ import annotations

import asyncio

import pytest

from swarm.workspace.locks import held


class OneAtATime:
    def __init__(self):
        self.owner = False
        self.tries = 0

    def try_acquire(self):
        self.tries += 1
        if self.owner:
            return False
        self.owner = True
        return True

    def release(self):
        self.owner = False


async def test_one_at_a_time_in_the_same_process():
    """Two teammates of one process verify one after the other, and neither blocks the loop."""
    lock, inside, most = OneAtATime(), 0, 0

    async def work():
        nonlocal inside, most
        async with held(lock, poll=0.001):
            inside += 1
            most = max(most, inside)
            await asyncio.sleep(0.005)
            inside -= 1

    await asyncio.gather(*(work() for _ in range(5)))

    assert most == 1
    assert lock.tries > 5
    assert not lock.owner


async def test_an_error_inside_releases():
    lock = OneAtATime()
    with pytest.raises(ValueError, match="inside"):
        async with held(lock):
            raise ValueError("inside")

    assert not lock.owner


async def test_cancelling_the_wait_leaves_the_lock_alone():
    """The holder is somebody else; giving up must not take it from them."""
    lock = OneAtATime()
    lock.try_acquire()

    async def wait():
        async with held(lock, poll=0.001):
            pytest.fail("the lock is taken")

    task = asyncio.ensure_future(wait())
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert lock.owner
