"""From an order to its best DAG."""

import numpy as np
from numpy.typing import NDArray

from outpoint.search.winners import WORD, Winners

Adjacency = NDArray[np.bool_]


def best_dag(winners: Winners, order: NDArray[np.integer]) -> tuple[Adjacency, float]:
    """The best DAG of an order (parents first) and its log score, -inf if there is none.

    Every node has the first of its winning sets that lies before it: of several best sets a
    smallest one.
    """
    n = len(winners.alone)
    adjacency = np.zeros((n, n), dtype=np.bool_)
    before = np.zeros(n, dtype=np.bool_)
    log_score = 0.0
    for child in map(int, order):
        parents = winners.parent[winners.first_pair[child] : winners.first_pair[child + 1]]
        slots = np.arange(len(parents))
        masks = winners.mask[winners.start[child] : winners.start[child + 1]]
        contains = (masks[:, slots // WORD] >> (slots % WORD) & 1).astype(np.bool_)
        fitting = np.flatnonzero(~contains[:, ~before[parents]].any(axis=1))
        if len(fitting):
            adjacency[parents[contains[fitting[0]]], child] = True
            log_score += float(winners.score[winners.start[child] + fitting[0]])
        else:
            log_score = -np.inf
        before[child] = True
    return adjacency, log_score
