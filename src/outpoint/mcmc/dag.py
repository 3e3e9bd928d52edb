"""DAGs as the state of a chain: parent lists, local scores, layers, descendants."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from outpoint.kernels import inlined, kernel


class DagState(NamedTuple):
    """Parents of each node, as a list of ``n_parents[v]`` and as a mask; local log scores."""

    parents: NDArray[np.int64]
    n_parents: NDArray[np.int64]
    mask: NDArray[np.int64]
    log_score: NDArray[np.float64]


@kernel
def make_dag(n, max_parents):
    """The empty DAG, not scored yet."""
    return DagState(
        np.zeros((n, max_parents + 1), dtype=np.int64),
        np.zeros(n, dtype=np.int64),
        np.zeros(n, dtype=np.int64),
        np.zeros(n),
    )


@inlined
def set_parents(view, dag, node, mask, log_score):
    """Give ``node`` the parents in ``mask``, a set of its candidates with this score."""
    size = 0
    for i in range(view.candidates.shape[1]):
        if mask >> i & 1:
            dag.parents[node, size] = view.candidates[node, i]
            size += 1
    dag.n_parents[node] = size
    dag.mask[node] = mask
    dag.log_score[node] = log_score


@inlined
def copy_dag(source, target):
    """Make ``target`` equal to ``source``."""
    for node in range(source.n_parents.size):
        for i in range(source.n_parents[node]):
            target.parents[node, i] = source.parents[node, i]
        target.n_parents[node] = source.n_parents[node]
        target.mask[node] = source.mask[node]
        target.log_score[node] = source.log_score[node]


@inlined
def find_layers(dag, layer):
    """The layer of each node: 0 without parents, else one more than its highest parent."""
    n = dag.n_parents.size
    for node in range(n):
        layer[node] = -1
    n_done = 0
    n_layers = 0
    while n_done < n:
        for node in range(n):
            if layer[node] < 0:
                highest = -1
                for i in range(dag.n_parents[node]):
                    above = layer[dag.parents[node, i]]
                    if above < 0:
                        highest = n
                        break
                    highest = max(highest, above)
                if highest < n:
                    layer[node] = highest + 1
                    n_layers = max(n_layers, highest + 2)
                    n_done += 1
    return n_layers


@inlined
def mark_descendants(dag, root, blocked):
    """Set ``blocked[u] = 1`` for ``root`` and all its descendants.

    What is blocked already must be closed under descent, as it is after earlier calls.
    """
    n = dag.n_parents.size
    blocked[root] = 1
    changed = True
    while changed:
        changed = False
        for node in range(n):
            if blocked[node] == 0:
                for i in range(dag.n_parents[node]):
                    if blocked[dag.parents[node, i]] == 1:
                        blocked[node] = 1
                        changed = True
                        break
