"""Peeling a graph from its outpoints, on parent sets held as bit masks.

An *outpoint* is a node without parents. Every DAG has at least one; taking all of them away
leaves a smaller DAG, so that peeling layer after layer uses up every node if and only if the
graph has no cycle (paper, section 4.1). That one loop gives the acyclicity check, a topological
order and the labelled partition. A parent set is a Python integer whose bit `u` says whether node
`u` is a member: integers have no width, so nothing here limits the number of nodes.

Kernels sort nodes in the form in which they hold a graph: `graphs.blocks`, `tables.parent_sets`,
`mcmc.dag`, `mcmc.structure_chain`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from outpoint.arrays import Booleans

Layers = tuple[tuple[int, ...], ...]


def compute_parent_masks(adjacency: Booleans) -> list[int]:
    """The parents of each node as a bit mask; `adjacency` is [parent, child]."""
    packed = np.packbits(adjacency, axis=0, bitorder="little")
    return [int.from_bytes(column.tobytes(), "little") for column in packed.T]


def iterate_bits(mask: int) -> Iterator[int]:
    """The members of a bit mask, in increasing order."""
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


def peel_layers(parent_masks: Sequence[int]) -> Layers:
    """Layers of outpoints, beginning with the nodes without parents; incomplete with a cycle.

    The graph is acyclic if and only if the layers returned hold all the nodes.
    """
    layers = []
    not_placed = (1 << len(parent_masks)) - 1
    waiting: dict[int, list[int]] = {}  # each node by one of its parents that are not placed yet
    arrived = list(range(len(parent_masks)))
    while arrived:
        outpoints = []
        for v in arrived:
            missing = parent_masks[v] & not_placed
            if missing:
                waiting.setdefault(missing.bit_length() - 1, []).append(v)
            else:
                outpoints.append(v)
        if outpoints:
            layers.append(tuple(sorted(outpoints)))
        not_placed &= ~sum(1 << v for v in outpoints)
        arrived = [v for u in outpoints for v in waiting.pop(u, ())]
    return tuple(layers)


def peel_order(adjacency: Booleans) -> list[int]:
    """The nodes layer by layer, parents first; fewer than all if there is a cycle."""
    return [v for layer in peel_layers(compute_parent_masks(adjacency)) for v in layer]


def order_of(adjacency: Booleans) -> tuple[int, ...]:
    """The nodes of a DAG, parents first, children as soon as they can follow.

    Variables get their random numbers in this order when rows are simulated: with another one the
    same seeds would give other rows.
    """
    waiting = adjacency.sum(axis=0)
    ready, order = [int(v) for v in np.flatnonzero(waiting == 0)], []
    while ready:
        v = ready.pop()
        order.append(v)
        for child in np.flatnonzero(adjacency[v]):
            waiting[child] -= 1
            if waiting[child] == 0:
                ready.append(int(child))
    return tuple(order)


class Reach:
    """Which nodes lead to which in a graph that gets one edge after the other."""

    def __init__(self, n_nodes: int) -> None:
        self._leads = np.eye(n_nodes, dtype=np.bool_)  # [u, v]: v is u or below it

    def closes_cycle(self, parent: int, child: int) -> bool:
        """Whether the edge would close a directed cycle."""
        return bool(self._leads[child, parent])

    def add(self, parent: int, child: int) -> None:
        """Take note of an edge."""
        self._leads |= np.outer(self._leads[:, parent], self._leads[child])


def find_cycle(parent_masks: Sequence[int]) -> list[int] | None:
    """One directed cycle, as its nodes in the direction of the edges, or None if there is none."""
    placed = sum(1 << v for layer in peel_layers(parent_masks) for v in layer)
    remaining = (1 << len(parent_masks)) - 1 - placed
    if not remaining:
        return None
    # Each remaining node has a remaining parent, so a walk to parents must come back to itself.
    walk: list[int] = []
    node = next(iterate_bits(remaining))
    while node not in walk:
        walk.append(node)
        node = next(iterate_bits(parent_masks[node] & remaining))
    return walk[walk.index(node) :][::-1]
