"""The best DAG, by dynamic programming over sets: M(U) = max_v M(U - v) + best_v(U - v)."""

import numpy as np
from numpy.typing import NDArray

from outpoint.kernels import kernel
from outpoint.tables import ScoreTable
from outpoint.tables.bits import skip_bit


def find_best(table: ScoreTable) -> tuple[NDArray[np.bool_], float]:
    """Adjacency matrix and log score of the best DAG of a complete table."""
    n = table.n_nodes
    last = np.empty(1 << n, dtype=np.int8)
    log_score = float(_best_last_nodes(table.maxima, last))
    adjacency = np.zeros((n, n), dtype=np.bool_)
    if log_score == -np.inf:
        return adjacency, log_score
    mask = (1 << n) - 1
    while mask:
        child = int(last[mask])
        mask ^= 1 << child
        before = [u for u in range(n) if mask >> u & 1]
        adjacency[list(table.best_parents(child, before)), child] = True
    return adjacency, log_score


@kernel
def _best_last_nodes(maxima, last):
    n = maxima.shape[0]
    best = np.full(1 << n, -np.inf)
    best[0] = 0.0
    for mask in range(1, 1 << n):
        last[mask] = -1
        for node in range(n):
            bit = 1 << node
            if mask & bit:
                rest = mask ^ bit
                score = best[rest] + maxima[node, skip_bit(rest, node)]
                if last[mask] < 0 or score > best[mask]:
                    best[mask] = score
                    last[mask] = node
    return best[-1]
