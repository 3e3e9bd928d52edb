"""From an order to its best DAG."""

import numpy as np
from numpy.typing import NDArray

from outpoint.arrays import Booleans
from outpoint.search.winners import Winners
from outpoint.tables import ScoreTable
from outpoint.tables.best import best_subset


def best_dag(
    table: ScoreTable, winners: Winners, order: NDArray[np.integer]
) -> tuple[Booleans, float]:
    """The best DAG of an order (parents first) and its log score, -inf if there is none."""
    n = table.n_nodes
    adjacency = np.zeros((n, n), dtype=np.bool_)
    before = np.zeros(n, dtype=np.bool_)
    log_score = 0.0
    for child in map(int, order):
        parents, score = _best_parents(table, winners, child, before)
        adjacency[parents, child] = True
        before[child] = True
        log_score += score
    return adjacency, log_score


def _best_parents(
    table: ScoreTable, winners: Winners, child: int, before: Booleans
) -> tuple[list[int], float]:
    """The best parents among the nodes ``before`` (a boolean per node), and their score."""
    candidates = table.candidates_of(child)
    allowed = int(before[candidates] @ (1 << np.arange(len(candidates))))
    best = float(table.maxima[child, allowed])
    for i in range(winners.start[child], winners.start[child + 1]):
        members = [int(u) for u in winners.members[i] if u >= 0]
        if winners.score[i] <= best:
            break
        if before[members].all():
            return members, float(winners.score[i])
    if best == -np.inf:
        return [], best
    mask = best_subset(table, child, allowed)
    chosen = [int(u) for i, u in enumerate(candidates) if mask >> i & 1]
    return chosen, float(table.dense[child, mask])
