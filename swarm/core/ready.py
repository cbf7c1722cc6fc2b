"""Tasks that could be claimed now, lowest number first, without looking at all of them.

Each waits in one lane: its owner, the agent or role that it is meant for, or the open lane. So a task for
somebody else costs a claimer nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from heapq import heappop, heappush

OPEN_LANE = ""


class ReadyQueue:
    """One heap for each lane. A number that was removed or changed lanes is dropped when it comes up."""

    def __init__(self) -> None:
        self._lane_of: dict[int, str] = {}
        self._heaps: dict[str, list[int]] = {}

    def __contains__(self, number: int) -> bool:
        return number in self._lane_of

    def __len__(self) -> int:
        return len(self._lane_of)

    def numbers(self) -> list[int]:
        return sorted(self._lane_of)

    def add(self, number: int, lane: str) -> None:
        """Put a number into a lane, out of the one where it was."""
        if self._lane_of.get(number) != lane:
            self._lane_of[number] = lane
            heappush(self._heaps.setdefault(lane, []), number)

    def remove(self, number: int) -> None:
        self._lane_of.pop(number, None)

    def first(self, lanes: Iterable[str], fits: Callable[[int], bool]) -> int | None:
        """Return the lowest number of these lanes that fits, and leave it in; those passed over stay, too."""
        heaps = {lane: self._heaps[lane] for lane in lanes if lane in self._heaps}
        passed: list[tuple[int, str]] = []
        try:
            while (head := self._head(heaps)) is not None:
                if fits(head[0]):
                    return head[0]
                heappop(heaps[head[1]])
                if head not in passed[-1:]:
                    passed.append(head)
        finally:
            for number, lane in passed:
                heappush(heaps[lane], number)
        return None

    def _head(self, heaps: dict[str, list[int]]) -> tuple[int, str] | None:
        heads: list[tuple[int, str]] = []
        for lane, heap in heaps.items():
            while heap and self._lane_of.get(heap[0]) != lane:
                heappop(heap)
            if heap:
                heads.append((heap[0], lane))
        return min(heads, default=None)
