"""The edges of a DAG, listed for steps that change it: by child and by parent."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from outpoint.kernels import inlined, jitable


class ListedEdges(NamedTuple):
    """The edges of a DAG, and scratch space of steps that look for descendants.

    Edge e goes from ``edge_parent[e]`` to ``edge_child[e]``; the children of u are
    ``children[child_start[u]:child_start[u + 1]]``. Nodes blocked as parents of i, of j and of
    both are those marked with the ``stamp``, which grows from step to step, so that nothing has
    to be wiped out.
    """

    edge_parent: NDArray[np.int64]
    edge_child: NDArray[np.int64]
    child_start: NDArray[np.int64]
    children: NDArray[np.int64]
    waiting: NDArray[np.int64]
    below_first: NDArray[np.int64]
    below_second: NDArray[np.int64]
    below_both: NDArray[np.int64]
    stamp: NDArray[np.int64]


@jitable
def make_listed_edges(n, max_parents):
    """Room for the edges of DAGs with this number of nodes and parents; no edge is listed yet."""
    room = n * max_parents
    return ListedEdges(
        np.zeros(room, dtype=np.int64),
        np.zeros(room, dtype=np.int64),
        np.zeros(n + 1, dtype=np.int64),
        np.zeros(room, dtype=np.int64),
        np.zeros(n, dtype=np.int64),
        np.zeros(n, dtype=np.int64),
        np.zeros(n, dtype=np.int64),
        np.zeros(n, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
    )


@inlined
def list_edges(dag, listed):
    """List the edges of ``dag``."""
    n = dag.n_parents.size
    start = listed.child_start
    for u in range(n + 1):
        start[u] = 0
    n_edges = 0
    for child in range(n):
        for i in range(dag.n_parents[child]):
            parent = dag.parents[child, i]
            listed.edge_parent[n_edges] = parent
            listed.edge_child[n_edges] = child
            start[parent + 1] += 1
            n_edges += 1
    for u in range(n):
        start[u + 1] += start[u]
    for u in range(n):
        listed.waiting[u] = start[u + 1]  # children are filled in from the last one on
    for edge in range(n_edges):
        parent = listed.edge_parent[edge]
        listed.waiting[parent] -= 1
        listed.children[listed.waiting[parent]] = listed.edge_child[edge]


@inlined
def mark_below(scratch, root, first, second, below):
    """Mark ``root`` and its descendants, on ways that do not enter either end."""
    stamp, waiting = scratch.stamp[0], scratch.waiting
    below[root] = scratch.below_both[root] = stamp
    waiting[0] = root
    n_waiting = 1
    while n_waiting > 0:
        n_waiting -= 1
        u = waiting[n_waiting]
        for i in range(scratch.child_start[u], scratch.child_start[u + 1]):
            child = scratch.children[i]
            if child not in (first, second) and below[child] != stamp:
                below[child] = scratch.below_both[child] = stamp
                waiting[n_waiting] = child
                n_waiting += 1
