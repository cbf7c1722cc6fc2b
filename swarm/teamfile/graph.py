"""Questions about a task graph, answered with networkx: off the hot path only.

A graph is a mapping from each id to the ids it waits for, in the order in which ties are decided.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import networkx as nx

Waits = Mapping[str, Sequence[str]]


def find_cycles(waits: Waits) -> tuple[tuple[str, ...], ...]:
    """One cycle of each tangle: `(a, b, a)` when a, the first in order, waits for b and b for a."""
    graph = _waiting_graph(waits)
    rank = _rank(waits)
    tangles = [t for t in nx.strongly_connected_components(graph) if _is_tangle(graph, t)]
    by_first = {min(tangle, key=rank.__getitem__): tangle for tangle in tangles}
    firsts = sorted(by_first, key=rank.__getitem__)
    return tuple(_shortest_cycle(graph.subgraph(by_first[first]), first, rank) for first in firsts)


def acyclic(waits: Waits) -> dict[str, tuple[str, ...]]:
    """The same graph without unknown ids and without links that close a cycle, so that it can be drawn."""
    graph = _waiting_graph(waits)
    rank = _rank(waits)
    tangles = enumerate(nx.strongly_connected_components(graph))
    tangle_of = {name: number for number, tangle in tangles for name in tangle}

    def is_kept(name: str, blocker: str) -> bool:
        return blocker in rank and (tangle_of[blocker] != tangle_of[name] or rank[blocker] < rank[name])

    return {
        name: tuple(blocker for blocker in dict.fromkeys(blockers) if is_kept(name, blocker))
        for name, blockers in waits.items()
    }


def topological_order(waits: Waits) -> tuple[str, ...]:
    """Blockers before those who wait; otherwise the given order. The graph must be acyclic."""
    rank = _rank(waits)
    return tuple(nx.lexicographical_topological_sort(_waiting_graph(waits).reverse(), key=rank.__getitem__))


def find_waves(waits: Waits) -> tuple[tuple[str, ...], ...]:
    """Tasks that could run at the same time, if there were teammates enough, wave after wave."""
    rank = _rank(waits)
    generations = nx.topological_generations(_waiting_graph(waits).reverse())
    return tuple(tuple(sorted(generation, key=rank.__getitem__)) for generation in generations)


def find_critical_path(waits: Waits) -> tuple[str, ...]:
    """The longest chain of tasks, each counting 1; of equals the one whose tasks come first."""
    if not waits:
        return ()
    rank = _rank(waits)
    length: dict[str, int] = {}
    for name in topological_order(waits):
        length[name] = 1 + max((length[blocker] for blocker in waits[name]), default=0)
    path = [max(waits, key=length.__getitem__)]
    while blockers := waits[path[-1]]:
        path.append(max(sorted(blockers, key=rank.__getitem__), key=length.__getitem__))
    return tuple(reversed(path))


def without_shortcuts(waits: Waits) -> dict[str, tuple[str, ...]]:
    """The same order with the fewest links: no link that a chain of others already implies."""
    reduced = nx.transitive_reduction(_waiting_graph(waits))
    return {name: tuple(b for b in blockers if reduced.has_edge(name, b)) for name, blockers in waits.items()}


def _waiting_graph(waits: Waits) -> nx.DiGraph[str]:
    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_nodes_from(waits)
    graph.add_edges_from((name, b) for name, blockers in waits.items() for b in blockers if b in waits)
    return graph


def _is_tangle(graph: nx.DiGraph[str], nodes: set[str]) -> bool:
    return len(nodes) > 1 or any(graph.has_edge(node, node) for node in nodes)


def _shortest_cycle(graph: nx.DiGraph[str], first: str, rank: Mapping[str, int]) -> tuple[str, ...]:
    nexts = sorted(graph[first], key=rank.__getitem__)
    ways = [tuple(nx.shortest_path(graph, after, first)) for after in nexts]
    return (first, *min(ways, key=len))


def _rank(waits: Waits) -> dict[str, int]:
    return {name: position for position, name in enumerate(waits)}
