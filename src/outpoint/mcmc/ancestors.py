"""Counting in how many DAGs one node is an ancestor of another."""

import numpy as np
from numpy.typing import NDArray

from outpoint.kernels import kernel
from outpoint.mcmc.dag import make_dag
from outpoint.mcmc.structure_chain import fill_reach, has_bit, make_neighbourhood


def count_ancestors(adjacencies: NDArray[np.bool_]) -> NDArray[np.int64]:
    """[u, v]: the number of matrices [parent, child] in which u is an ancestor of v."""
    n = adjacencies.shape[1]
    most = int(adjacencies.sum(axis=1).max(initial=0))
    counts = np.zeros((n, n), dtype=np.int64)
    _count(adjacencies, make_dag(n, most), make_neighbourhood(n), counts)
    return counts


@kernel
def _count(adjacencies, dag, near, counts):
    n = counts.shape[0]
    for draw in range(adjacencies.shape[0]):
        for node in range(n):
            dag.n_parents[node] = 0
        for u in range(n):
            for v in range(n):
                if adjacencies[draw, u, v]:
                    dag.parents[v, dag.n_parents[v]] = u
                    dag.n_parents[v] += 1
        fill_reach(dag, near)
        for u in range(n):
            for v in range(n):
                counts[u, v] += has_bit(near.reach, u, v)
