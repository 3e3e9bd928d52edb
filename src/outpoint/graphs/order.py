"""Orders of the nodes, and the number of orders a DAG is compatible with.

An order lists the nodes with parents first. A DAG is compatible with an order when every edge
points forward in it; the orders of one DAG are its *linear extensions*, between 1 and n! of them.
Order MCMC meets a DAG once per linear extension, so this count is exactly the weight by which it
is biased (paper, section 3.2), and it is the W of the bound on missed graphs in MAP discovery.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import comb, factorial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from outpoint.arguments import takes
from outpoint.errors import GraphError, TooLargeError
from outpoint.graphs.layers import compute_parent_masks, iterate_bits
from outpoint.graphs.validation import DAG, validate_indices

if TYPE_CHECKING:
    from outpoint.graphs.dag import Dag


@dataclass(frozen=True)
class Order:
    """A permutation of the nodes 0..n-1, parents before children."""

    nodes: tuple[int, ...]

    def __post_init__(self) -> None:
        """Check that each node occurs once."""
        nodes = validate_indices(self.nodes)
        if sorted(nodes) != list(range(len(nodes))):
            raise GraphError(
                f"an order must hold each of the nodes 0 to {len(nodes) - 1} exactly once"
            )
        object.__setattr__(self, "nodes", nodes)

    @classmethod
    @takes(dag=DAG)
    def from_dag(cls, dag: Dag) -> Order:
        """One order of the DAG: layer after layer, by index inside a layer."""
        return cls(tuple(v for layer in dag.partition().layers for v in layer))

    @property
    def n_nodes(self) -> int:
        """The number of nodes."""
        return len(self.nodes)

    @cached_property
    def position(self) -> npt.NDArray[np.int64]:
        """For each node its place in the order, counted from 0."""
        position = np.empty(self.n_nodes, dtype=np.int64)
        position[list(self.nodes)] = np.arange(self.n_nodes)
        position.setflags(write=False)
        return position

    @takes(dag=DAG)
    def contains(self, dag: Dag) -> bool:
        """Whether every edge of the DAG points forward in this order."""
        if dag.n_nodes != self.n_nodes:
            return False
        parents, children = np.nonzero(dag.adjacency)
        return bool(np.all(self.position[parents] < self.position[children]))


def count_linear_extensions(dag: Dag, *, max_states: int = 2_000_000) -> int:
    """The exact number of orders compatible with a DAG.

    Connected components interleave freely, so they are counted apart and joined by binomials. In
    a component the orders are counted over *down-sets* (sets that hold all parents of their
    members): the orders of a set are the sum, over its possible last nodes, of the orders of the
    set without it. Time is the number of down-sets times n; memory is the down-sets of two
    neighbouring sizes. A path of n nodes has n+1 down-sets, one parent with n-1 children 2^(n-1)+1.

    Raises TooLargeError when more than `max_states` down-sets of one size would be held.
    """
    parent_masks = compute_parent_masks(dag.adjacency)
    count = 1
    placed = 0
    for component in find_components(parent_masks):
        size = component.bit_count()
        placed += size
        count *= comb(placed, size) * _count_in_component(parent_masks, component, max_states)
    return count


def bound_linear_extensions(dag: Dag) -> int:
    """An upper bound on the number of orders, at once for any number of nodes.

    Leaving out edges can only add orders. With one parent per node, the one in the deepest layer,
    the DAG becomes a forest, whose orders number n! over the product of the sizes of all subtrees
    (Knuth); the same with one child per node. The smaller of both is returned.
    """
    layers = dag.partition().layer_of.tolist()
    children = [np.flatnonzero(row).tolist() for row in dag.adjacency]
    return min(
        _count_forest_orders(dag.parent_sets, layers),
        _count_forest_orders(children, [-layer for layer in layers]),
    )


def _count_forest_orders(above: Sequence[Sequence[int]], depth: Sequence[int]) -> int:
    """Orders of the forest that hangs each node under the deepest of the nodes above it."""
    n = len(above)
    subtree = [1] * n
    for node in sorted(range(n), key=lambda v: -depth[v]):
        if above[node]:
            subtree[max(above[node], key=lambda u: depth[u])] += subtree[node]
    count = factorial(n)
    for size in subtree:
        count //= size
    return count


def find_components(parent_masks: Sequence[int]) -> list[int]:
    """The connected components of the skeleton, as bit masks."""
    components: list[int] = []
    for node, parents in enumerate(parent_masks):
        merged = parents | 1 << node
        apart = []
        for component in components:
            if component & merged:
                merged |= component
            else:
                apart.append(component)
        components = [*apart, merged]
    return components


def _count_in_component(parent_masks: Sequence[int], component: int, max_states: int) -> int:
    """Sweep the down-sets of one component by size, each with its number of orders."""
    nodes = [(1 << v, parent_masks[v]) for v in iterate_bits(component)]
    orders = {0: 1}
    for _ in nodes:
        larger: dict[int, int] = {}
        for down_set, count in orders.items():
            for bit, parents in nodes:
                if not down_set & bit and not parents & ~down_set:
                    key = down_set | bit
                    larger[key] = larger.get(key, 0) + count
        if len(larger) > max_states:
            raise TooLargeError(
                f"counting the orders of this DAG needs more than {max_states} sets at once; "
                "raise max_states, or work with partitions, where each DAG counts once"
            )
        orders = larger
    return orders[component]


def random_order(
    required: npt.NDArray[np.bool_], rng: np.random.Generator
) -> npt.NDArray[np.int64]:
    """A random order, parents first, in which all ``required`` edges [parent, child] point forward.

    Without such edges every order is equally likely.
    """
    n = len(required)
    n_missing = required.sum(axis=0)
    waiting = [int(v) for v in rng.permutation(n) if n_missing[v] == 0]
    order = np.empty(n, dtype=np.int64)
    for place in range(n):
        node = waiting.pop(int(rng.integers(len(waiting))))
        order[place] = node
        for child in np.flatnonzero(required[node]):
            n_missing[child] -= 1
            if n_missing[child] == 0:
                waiting.append(int(child))
    return order
