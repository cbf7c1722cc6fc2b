"""Claim and complete by several worker processes at once, through the functions that workers really call.

Both sides run for the same time, in turn; what counts is how many tasks they finish in it. Each is measured
with its default durability: ours waits for the disk once for each completion, huey and raw SQLite once for
each transaction. The contended case is also measured with both told not to wait at all.
"""

from __future__ import annotations

import multiprocessing
import shutil
import statistics
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.sharedctypes import Synchronized
from multiprocessing.synchronize import Barrier
from pathlib import Path

from benchmarks.measuring import FULL, Effort, Row
from benchmarks.queues import Bare, Huey, Ours, Queue, Raw

_START_SECONDS = 60.0
_NOTHING_LEFT = object()
_forked = multiprocessing.get_context("fork")
_together: list[tuple[Barrier, Synchronized[float]]] = []
"""In a worker process: where all meet before they start, and when they stop."""


def rows(effort: Effort = FULL) -> list[Row]:
    """Seconds for one task, of all workers together."""
    durable = (Ours("results"), Huey(fsync=None), Raw("full"))
    found = []
    for size in effort.sizes:
        found += _compared(effort, effort.grid_rounds, effort.workers, size, durable)
    workers, size = effort.contended
    found += _compared(effort, effort.rounds, (workers,), size, (*durable, Bare()))
    unsynced = (Ours("none"), Huey(fsync=None), Huey(fsync=False), Raw("off"), Bare())
    return found + _compared(effort, effort.rounds, (workers,), size, unsynced)


def _compared(
    effort: Effort, rounds: int, all_workers: Sequence[int], size: int, queues: Sequence[Queue]
) -> list[Row]:
    ours, *others = queues
    found = []
    with tempfile.TemporaryDirectory() as folder:
        places = {queue.name: Path(folder) / str(number) for number, queue in enumerate(queues)}
        for workers in all_workers:
            taken: dict[str, list[float]] = {queue.name: [] for queue in queues}
            for _ in range(rounds):
                for queue in queues:
                    seconds = _seconds_per_task(queue, places[queue.name], workers, size, effort.seconds)
                    taken[queue.name].append(seconds)
            medians = {name: statistics.median(times) for name, times in taken.items()}
            what = f"claim+complete, {workers} workers, {size:,} tasks; {ours.name}"
            found += [Row(what, medians[ours.name], other.name, medians[other.name]) for other in others]
    return found


def _seconds_per_task(queue: Queue, folder: Path, workers: int, size: int, limit: float) -> float:
    left = folder / "left"
    if not left.exists() or int(left.read_text()) < size * 0.6:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        queue.fill(folder, size)
        left.write_text(str(size))
    together = _forked.Barrier(workers), _forked.Value("d")
    with ProcessPoolExecutor(workers, _forked, _together.append, (together,)) as pool:
        futures = [pool.submit(_work, queue, folder, f"w{number}", limit) for number in range(workers)]
        results = [future.result() for future in futures]
    done = sum(count for count, _ in results)
    left.write_text(str(int(left.read_text()) - done))
    return max(taken for _, taken in results) / max(done, 1)


def _work(queue: Queue, folder: Path, worker: str, limit: float) -> tuple[int, float]:
    """Return how many tasks this worker did, and how long after the common start it did the last."""
    steps = queue.steps(folder, worker)
    next(steps)
    barrier, stop = _together[-1]
    if barrier.wait(_START_SECONDS) == 0:
        stop.value = time.monotonic() + limit
    barrier.wait(_START_SECONDS)
    ended, count = stop.value - limit, 0
    while ended < stop.value and next(steps, _NOTHING_LEFT) is not _NOTHING_LEFT:
        ended, count = time.monotonic(), count + 1
    return count, ended - (stop.value - limit)
