"""Choosing each node's candidate parents, the ones whose subsets get a dense table.

The choice affects speed only: parent sets that leave the candidates are kept as outside sets.
"""

import numpy as np
from numpy.typing import NDArray

from outpoint.kernels import kernel
from outpoint.scores.families import Scores, size_offsets, subsets_of_size
from outpoint.tables.logspace import log_add


def choose_candidates(
    families: Scores, max_parents: int, n_candidates: int, required: NDArray[np.bool_]
) -> NDArray[np.int32]:
    """The ``n_candidates`` best parents of each node, ascending: required ones, then by weight.

    The weight of u as a parent of v is the sum of exp s(v, S) over the scored sets S with u.
    """
    n = len(families)
    out = np.empty((n, n_candidates), dtype=np.int32)
    if n_candidates == n - 1:
        for child in range(n):
            out[child] = np.delete(np.arange(n), child)
        return out
    weights = parent_log_weights(families, max_parents)
    for child in range(n):
        ranked = sorted(
            (u for u in range(n) if u != child),
            key=lambda u: (not required[u, child], -weights[u, child]),
        )
        out[child] = sorted(ranked[:n_candidates])
    return out


def parent_log_weights(families: Scores, max_parents: int) -> NDArray[np.float64]:
    """Log sum of exp s(v, S) over all scored S containing u, as [u, v]."""
    n = len(families)
    offsets = size_offsets(n - 1, max_parents)
    weights = np.full((n, n), -np.inf)
    for size in range(1, max_parents + 1):
        _add_parent_weights(
            families[:, offsets[size] : offsets[size + 1]], subsets_of_size(n - 1, size), weights
        )
    return weights


@kernel
def _add_parent_weights(families, others, weights):
    for child in range(families.shape[0]):
        for row in range(others.shape[0]):
            score = families[child, row]
            if score > -np.inf:
                for other in others[row]:
                    parent = other + 1 if other >= child else other
                    weights[parent, child] = log_add(weights[parent, child], score)
