"""Which set is the best one, where a table of maxima says how good it is."""

import numpy as np

from outpoint.tables.table import ScoreTable


def tie_tolerance(log_score: float) -> float:
    """Scores this close to each other count as equal: equivalent DAGs differ by rounding."""
    return 1e-10 * (1.0 + abs(log_score))


def best_subset(
    table: ScoreTable, child: int, mask: int, rng: np.random.Generator | None = None
) -> int:
    """Mask of the best parent set of ``child`` among the candidates in ``mask``.

    Candidates are left out one by one while the maximum stays the same. What remains is a smallest
    best set; with ``rng`` it is any of those that tie, at random.
    """
    maxima, scores = table.maxima[child], table.dense[child]
    least = maxima[mask] - (0.0 if rng is None else tie_tolerance(maxima[mask]))
    n_candidates = len(table.candidates_of(child))
    places = np.arange(n_candidates) if rng is None else rng.permutation(n_candidates)
    for i in places.tolist():
        if rng is not None and scores[mask] >= least and rng.random() < 0.5:
            break
        if mask >> i & 1 and maxima[mask ^ (1 << i)] >= least:
            mask ^= 1 << i
    return mask
