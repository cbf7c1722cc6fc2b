"""Questions about a graph that is given by the neighbours of each node."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable


def shortest_path(
    start: str, goal: str, neighbours: Callable[[str], Iterable[str]]
) -> tuple[str, ...] | None:
    """Return the nodes from `start` to `goal`, both included, or None; a loop on the way does no harm."""
    came_from: dict[str, str | None] = {start: None}
    waiting = deque([start])
    while waiting:
        node = waiting.popleft()
        if node == goal:
            return _walk_back(node, came_from)
        for following in neighbours(node):
            if following not in came_from:
                came_from[following] = node
                waiting.append(following)
    return None


def _walk_back(node: str | None, came_from: dict[str, str | None]) -> tuple[str, ...]:
    path: list[str] = []
    while node is not None:
        path.append(node)
        node = came_from[node]
    return tuple(reversed(path))
