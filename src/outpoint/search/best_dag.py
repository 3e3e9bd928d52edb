"""From an order to its best DAG, and to other DAGs that score the same."""

import numpy as np
from numpy.typing import NDArray

from outpoint.search.view import SearchView
from outpoint.tables import ScoreTable
from outpoint.tables.best import best_subset

Adjacency = NDArray[np.bool_]


def best_dag(
    table: ScoreTable,
    view: SearchView,
    order: NDArray[np.integer],
    rng: np.random.Generator | None = None,
) -> tuple[Adjacency, float]:
    """The best DAG of an order (parents first) and its log score, -inf if there is none.

    Of several best parent sets it takes a smallest one, or with ``rng`` any of them at random.
    """
    n = table.n_nodes
    adjacency = np.zeros((n, n), dtype=np.bool_)
    before = np.zeros(n, dtype=np.bool_)
    log_score = 0.0
    for child in map(int, order):
        parents, score = _best_parents(table, view, child, before, rng)
        adjacency[parents, child] = True
        before[child] = True
        log_score += score
    return adjacency, log_score


def _best_parents(
    table: ScoreTable,
    view: SearchView,
    child: int,
    before: Adjacency,
    rng: np.random.Generator | None,
) -> tuple[list[int], float]:
    """The best parents among the nodes ``before`` (a boolean per node), and their score."""
    candidates = table.candidates[child]
    allowed = int(before[candidates] @ (1 << np.arange(len(candidates))))
    best = float(table.maxima[child, allowed])
    for i in range(view.start[child], view.start[child + 1]):
        members = [int(u) for u in view.members[i] if u >= 0]
        if view.score[i] <= best:
            break
        if before[members].all():
            return members, float(view.score[i])
    if best == -np.inf:
        return [], best
    mask = best_subset(table, child, allowed, rng)
    chosen = [int(u) for i, u in enumerate(candidates) if mask >> i & 1]
    return chosen, float(table.dense[child, mask])
