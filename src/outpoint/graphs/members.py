"""How many DAGs are Markov equivalent to a DAG: the size of its class, in polynomial time.

Inside a class the directed edges of the CPDAG are fixed, and each connected component of its
undirected part, a chordal graph, is directed on its own in any way that makes neither a cycle nor
a v-structure. The size of the class is the product of the numbers of those ways. For one component
they are counted by *clique picking* (Wienöbst, Bannach & Liśkiewicz, AAAI 2021): sort the ways by
the clique K that comes first. Directing K first leaves smaller undirected components, whose counts
do not depend on the order inside K, so that

    #(G) = sum over K of phi(K) * product over the components H after K of #(H).

A way can begin with several maximal cliques. To count it once, go through a rooted clique tree:
phi(K) is the number of orders of K that begin with none of the separators on the path from the
root to K that lie within K. These are nested, S_1 < ... < S_m, and with T_j the orders of S_j that
begin with no smaller one, T_j = |S_j|! - sum_{i<j} T_i |S_j - S_i|!, and phi is T for K itself.
Node sets are integers used as bit masks, and all counts are exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import factorial, prod

import numpy as np

from outpoint.arguments import FUNCTION, number_from, takes
from outpoint.errors import GraphError
from outpoint.graphs.cpdag import Cpdag
from outpoint.graphs.dag import Dag
from outpoint.graphs.layers import compute_parent_masks, iterate_bits
from outpoint.graphs.validation import TARGETS, Targets

IsAdmissible = Callable[[int, Sequence[int]], bool]
"""A function that says whether a node, given by its number, may have these parents."""


@takes(targets=TARGETS, admits=FUNCTION)
def count_members(
    graph: Cpdag | Dag, targets: Targets = (), admits: IsAdmissible | None = None
) -> int:
    """The number of DAGs in the Markov equivalence class of a DAG or of a CPDAG.

    With ``targets``, the sets of nodes that were set from outside in experiments, it is the number
    of DAGs that these and observations together cannot tell apart. With ``admits``, a function of
    a node and a sequence of parents, all by their numbers, only the members that it allows in all
    their families are counted; that takes exponential time where many nodes are undirected
    together.

    Examples
    --------
    >>> count_members(Dag.from_edges(["a", "b", "c"], [("a", "b"), ("b", "c")]))
    3
    """
    if isinstance(graph, Dag):
        return _count_directions(graph.cpdag(targets), admits)
    if not isinstance(graph, Cpdag):
        raise GraphError(
            f"members can be counted for a Cpdag or a Dag, not for {type(graph).__name__}"
        )
    if not _has_members(graph, targets):
        raise GraphError(
            "this partially directed graph is not the CPDAG of any DAG, so it has no members"
        )
    return _count_directions(graph, admits)


def _count_directions(cpdag: Cpdag, admits: IsAdmissible | None) -> int:
    both = cpdag.adjacency & cpdag.adjacency.T
    neighbours = compute_parent_masks(both)
    components = _components(neighbours, (1 << cpdag.n_nodes) - 1)
    if admits is None:
        memory: dict[int, int] = {}
        return prod(_count_component(neighbours, own, memory) for own in components)
    directed = compute_parent_masks(cpdag.adjacency & ~both)
    counter = _AdmissibleCounter(neighbours, admits)
    return prod(
        counter.count(own, tuple(directed[v] for v in iterate_bits(own))) for own in components
    )


class _AdmissibleCounter:
    """Counts directions of undirected components in which all families are admissible.

    Every way to direct a connected component has a single source, whose parents are then known.
    Directing its edges away from it, and what follows from that, leaves smaller components, whose
    nodes have further parents (He, Jia & Yu, JMLR 2015).
    """

    def __init__(self, neighbours: Sequence[int], admits: IsAdmissible) -> None:
        self._neighbours = neighbours
        self._admits = admits
        self._memory: dict[tuple[int, tuple[int, ...]], int] = {}

    def count(self, nodes: int, parents: tuple[int, ...]) -> int:
        """The ways to direct ``nodes``, which have ``parents`` outside of them, in order."""
        key = nodes, parents
        if key not in self._memory:
            known = dict(zip(iterate_bits(nodes), parents, strict=True))
            self._memory[key] = sum(
                self._count_from(source, nodes, known)
                for source in known
                if number_from("admits", self._admits, source, [*iterate_bits(known[source])])
            )
        return self._memory[key]

    def _count_from(self, source: int, nodes: int, parents: dict[int, int]) -> int:
        placed, count = 1 << source, 1
        for component in _components_after(self._neighbours, nodes, placed):
            count *= self.count(
                component,
                tuple(parents[v] | self._neighbours[v] & placed for v in iterate_bits(component)),
            )
            if not count:
                break
            placed |= component
        return count


def _has_members(graph: Cpdag, targets: Targets) -> bool:
    """Whether undirected edges along a search order give a DAG with this CPDAG.

    If any DAG has it, that one has.
    """
    both = graph.adjacency & graph.adjacency.T
    position = np.empty(graph.n_nodes, dtype=np.intp)
    order, _ = _search(compute_parent_masks(both), (1 << graph.n_nodes) - 1)
    position[order] = np.arange(graph.n_nodes)
    forward = position[:, None] < position[None, :]
    try:
        member = Dag(graph.names, graph.adjacency & ~both | both & forward)
    except GraphError:  # a cycle
        return False
    return member.cpdag(targets) == graph


def _count_component(neighbours: Sequence[int], nodes: int, memory: dict[int, int]) -> int:
    """Directions of the connected chordal graph on ``nodes`` without cycles or v-structures."""
    if nodes not in memory:
        size = nodes.bit_count()
        n_edges = sum((neighbours[v] & nodes).bit_count() for v in iterate_bits(nodes)) // 2
        if n_edges == size - 1:
            memory[nodes] = size  # a tree has one way for each root
        elif n_edges == size * (size - 1) // 2:
            memory[nodes] = factorial(size)
        else:
            memory[nodes] = _pick_cliques(neighbours, nodes, memory)
    return memory[nodes]


def _pick_cliques(neighbours: Sequence[int], nodes: int, memory: dict[int, int]) -> int:
    total = 0
    for clique, separators in _walk_clique_tree(_search(neighbours, nodes)[1]):
        product = _count_orders(clique, separators)
        for component in _components_after(neighbours, nodes, clique):
            product *= _count_component(neighbours, component, memory)
        total += product
    return total


def _count_orders(clique: int, separators: Sequence[int]) -> int:
    """Orders of the clique that begin with none of the separators within it."""
    sizes = sorted({s.bit_count() for s in separators if not s & ~clique})
    orders: list[int] = []
    for size in [*sizes, clique.bit_count()]:
        begun = sum(
            count * factorial(size - smaller) for count, smaller in zip(orders, sizes, strict=False)
        )
        orders.append(factorial(size) - begun)
    return orders[-1]


def _search(neighbours: Sequence[int], nodes: int) -> tuple[list[int], list[int]]:
    """Maximum cardinality search: the order of the nodes, and the maximal cliques met on the way.

    The next node is one with the most neighbours among those before it. In a chordal graph they
    form a clique with it, and one that does not grow is maximal (Blair & Peyton 1993).
    """
    order: list[int] = []
    cliques: list[int] = []
    placed = 0
    n_placed = dict.fromkeys(iterate_bits(nodes), 0)
    while n_placed:
        v = max(n_placed, key=n_placed.__getitem__)
        del n_placed[v]
        clique = neighbours[v] & placed | 1 << v
        if cliques and not cliques[-1] & ~clique:
            cliques[-1] = clique
        else:
            cliques.append(clique)
        for u in iterate_bits(neighbours[v] & nodes & ~placed):
            n_placed[u] += 1
        placed |= 1 << v
        order.append(v)
    return order, cliques


def _walk_clique_tree(cliques: Sequence[int]) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Each clique with the separators on its way from the root, in a tree of largest overlaps."""
    yield cliques[0], ()
    overlaps = {i: (cliques[0] & cliques[i], 0) for i in range(1, len(cliques))}
    above: dict[int, tuple[int, ...]] = {0: ()}
    while overlaps:
        i = max(overlaps, key=lambda j: overlaps[j][0].bit_count())
        separator, parent = overlaps.pop(i)
        above[i] = (*above[parent], separator)
        yield cliques[i], above[i]
        for j, (overlap, _) in overlaps.items():
            if (cliques[i] & cliques[j]).bit_count() > overlap.bit_count():
                overlaps[j] = cliques[i] & cliques[j], i


def _components_after(neighbours: Sequence[int], nodes: int, clique: int) -> Iterator[int]:
    """What stays undirected when the clique comes first (algorithm 1 of the paper).

    A lexicographic search from the clique splits the other nodes by their neighbours among those
    visited. Nodes in one part when its first one is visited have the same neighbours before them,
    so the edges among them are still free.
    """
    parts = [clique, nodes & ~clique]
    seen = clique
    while parts:
        if not parts[0]:
            parts.pop(0)
            continue
        v = next(iterate_bits(parts[0]))
        if not seen >> v & 1:
            yield from _components(neighbours, parts[0])
            seen |= parts[0]
        parts[0] &= ~(1 << v)
        near = neighbours[v]
        parts = [piece for part in parts for piece in (part & near, part & ~near) if piece]


def _components(neighbours: Sequence[int], nodes: int) -> Iterator[int]:
    """The connected components of the graph on ``nodes``."""
    while nodes:
        component, edge = 0, nodes & -nodes
        while edge:
            component |= edge
            edge = _union(neighbours[v] for v in iterate_bits(edge)) & nodes & ~component
        yield component
        nodes &= ~component


def _union(masks: Iterator[int]) -> int:
    union = 0
    for mask in masks:
        union |= mask
    return union
