"""Counting in how many drawn DAGs one node is an ancestor of another."""

import numpy as np
from numpy.typing import NDArray

from outpoint.kernels import kernel
from outpoint.mcmc.dag import make_dag
from outpoint.mcmc.structure_chain import fill_reach, has_bit, make_neighbourhood


def count_ancestors(masks: NDArray[np.uint32], candidates: NDArray[np.int32]) -> NDArray[np.int64]:
    """[u, v]: the number of draws, given as parent masks, in which u is an ancestor of v."""
    n, n_candidates = candidates.shape
    counts = np.zeros((n, n), dtype=np.int64)
    _count(masks, candidates, make_dag(n, n_candidates), make_neighbourhood(n), counts)
    return counts


@kernel
def _count(masks, candidates, dag, near, counts):
    n = counts.shape[0]
    for draw in range(masks.shape[0]):
        for node in range(n):
            dag.n_parents[node] = 0
            for i in range(candidates.shape[1]):
                if np.int64(masks[draw, node]) >> i & 1:
                    dag.parents[node, dag.n_parents[node]] = candidates[node, i]
                    dag.n_parents[node] += 1
        fill_reach(dag, near)
        for u in range(n):
            for v in range(n):
                counts[u, v] += has_bit(near.reach, u, v)
