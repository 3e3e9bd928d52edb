"""The best DAG, by dynamic programming over sets: M(U) = max_v M(U - v) + best_v(U - v)."""

import numpy as np

from outpoint.arrays import Booleans, Floats
from outpoint.kernels import kernel
from outpoint.tables import ScoreTable
from outpoint.tables.logspace import insert_bit, skip_bit
from outpoint.tables.table import best_subset, tie_tolerance


def find_best(table: ScoreTable) -> tuple[Booleans, float]:
    """Adjacency matrix and log score of the best DAG of a complete table."""
    best = best_on_sets(table)
    return _trace_back(table, best, None), float(best[-1])


def find_optima(
    table: ScoreTable, rng: np.random.Generator, n_tries: int
) -> tuple[list[Booleans], float]:
    """The best DAG, further ones that tie with it, and their log score.

    Of sets and nodes that tie, the first DAG takes the first; then ``n_tries`` are drawn, so that
    ties are likely to show, but a list of all of them is not promised.
    """
    best = best_on_sets(table)
    log_score = float(best[-1])
    found = {(dag := _trace_back(table, best, None)).tobytes(): dag}
    if log_score > -np.inf:
        for _ in range(n_tries):
            dag = _trace_back(table, best, rng)
            if log_scores_of(table, dag[None])[0] >= log_score - tie_tolerance(log_score):
                found.setdefault(dag.tobytes(), dag)
    return list(found.values()), log_score


def best_on_sets(table: ScoreTable) -> Floats:
    """The log score of the best DAG on every set of nodes, by bit mask."""
    best = np.full(1 << table.n_nodes, -np.inf)
    best[0] = 0.0
    _fill_best(table.maxima.matrix, best)
    return best


def _trace_back(table: ScoreTable, best: Floats, rng: np.random.Generator | None) -> Booleans:
    """One of the best DAGs: from the set of all nodes, take away a best last node each time."""
    n = table.n_nodes
    adjacency = np.zeros((n, n), dtype=np.bool_)
    mask = (1 << n) - 1
    if best[mask] == -np.inf:
        return adjacency
    slack = 0.0 if rng is None else tie_tolerance(float(best[mask]))
    while mask:
        nodes = [v for v in range(n) if mask >> v & 1]
        scores = [
            best[mask ^ (1 << v)] + table.maxima[v, skip_bit(mask ^ (1 << v), v)] for v in nodes
        ]
        tied = [v for v, score in zip(nodes, scores, strict=True) if score >= best[mask] - slack]
        child = tied[0] if rng is None else tied[int(rng.integers(len(tied)))]
        mask ^= 1 << child
        parents = insert_bit(best_subset(table, child, skip_bit(mask, child), rng), child)
        adjacency[[u for u in range(n) if parents >> u & 1], child] = True
    return adjacency


def log_scores_of(table: ScoreTable, dags: Booleans) -> Floats:
    """Log scores of adjacency matrices (draw, parent, child), from a complete table."""
    total = np.zeros(len(dags))
    for child in range(table.n_nodes):
        candidates = table.candidates[child]
        masks = dags[:, candidates, child] @ (1 << np.arange(len(candidates)))
        total += table.dense[child, masks]
    return total


@kernel
def _fill_best(maxima, best):
    n = maxima.shape[0]
    for mask in range(1, 1 << n):
        top = -np.inf
        for node in range(n):
            bit = 1 << node
            if mask & bit:
                rest = mask ^ bit
                top = max(top, best[rest] + maxima[node, skip_bit(rest, node)])
        best[mask] = top
