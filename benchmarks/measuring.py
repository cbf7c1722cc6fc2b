"""Timing by interleaved rounds, and the table of results."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """One measurement beside the one it is compared with; times are medians in seconds."""

    what: str
    seconds: float
    against: str
    against_seconds: float

    @property
    def ratio(self) -> float:
        """How many times as long ours took."""
        return self.seconds / self.against_seconds


@dataclass(frozen=True)
class Effort:
    """How much is measured: all of it, or just enough to see that it can be."""

    rounds: int = 5
    grid_rounds: int = 3
    workers: tuple[int, ...] = (1, 8, 16)
    sizes: tuple[int, ...] = (100, 1_000, 10_000)
    contended: tuple[int, int] = (8, 5_000)
    seconds: float = 0.3
    waiting: tuple[int, ...] = (127, 10_000)
    times: int = 12


FULL = Effort()
QUICK = Effort(
    rounds=1,
    grid_rounds=1,
    workers=(1, 2),
    sizes=(10, 20),
    contended=(2, 20),
    seconds=0.05,
    waiting=(3, 140),
    times=2,
)


def interleaved(
    rounds: int,
    things: Mapping[str, Callable[[], object]],
    *,
    after: Mapping[str, Callable[[], object]] | None = None,
) -> dict[str, float]:
    """Run all things in turn, `rounds` times; return the median seconds of each.

    Taking turns spreads the noise of the machine over all of them alike. What stands in `after` runs behind
    the thing of its name, untimed.
    """
    taken: dict[str, list[float]] = {name: [] for name in things}
    for _ in range(rounds):
        for name, thing in things.items():
            started = time.perf_counter()
            thing()
            taken[name].append(time.perf_counter() - started)
            if after and name in after:
                after[name]()
    return {name: statistics.median(times) for name, times in taken.items()}


def render(rows: list[Row]) -> str:
    """Return the rows as an aligned text table."""
    cells = [("what", "median ms", "against", "median ms", "ratio")]
    cells += [
        (
            row.what,
            f"{row.seconds * 1e3:.3f}",
            row.against,
            f"{row.against_seconds * 1e3:.3f}",
            f"{row.ratio:.2f}",
        )
        for row in rows
    ]
    widths = [max(len(row[column]) for row in cells) for column in range(5)]
    return "\n".join(
        "  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in cells
    )
