"""Simulated values of networks with continuous and categorical nodes, any of which may be parents.

A parent contributes to each child by its weight: a continuous one its value, a categorical one a
score of its level, from -1 to 1 in equal steps in an order drawn for every edge. A continuous child
is the sum of the contributions and normal noise. The levels of a categorical child have log odds:
a continuous parent's contribution counts for them by such a score of theirs, and each level of a
categorical parent brings scores of its own (multinomial logit).
"""

from collections.abc import Sequence

import numpy as np

from outpoint.arrays import Booleans, Floats

LARGEST_SCORE = 1.0


def simulate_mixture(
    adjacency: Booleans,
    order: Sequence[int],
    weights: Floats,
    noise_sd: Floats,
    levels: Sequence[int],
    listens: Booleans,
    rng: np.random.Generator,
) -> Floats:
    """Values, and codes of the nodes with levels, (row, node); ``levels`` is 0 for the others.

    Where a node does not listen (row, node), because it is set, its parents contribute nothing.
    Scores are drawn first, edge by edge, then one number per cell.
    """
    scores = {
        (u, v): _draw_scores(levels[u], levels[v], rng) for u, v in np.argwhere(adjacency).tolist()
    }
    noise = rng.standard_normal(listens.shape)
    uniform = rng.random(listens.shape)
    values = np.zeros(listens.shape)
    for v in order:
        contributions = [
            weights[u, v] * _contribution(values[:, u], levels[u], levels[v], scores[u, v])
            for u in np.flatnonzero(adjacency[:, v]).tolist()
        ]
        signal = sum(contributions, np.zeros((len(values), max(levels[v], 1))))
        signal = np.where(listens[:, v, None], signal, 0.0)
        if levels[v] == 0:
            values[:, v] = signal[:, 0] + noise_sd[v] * noise[:, v]
        else:
            odds = np.exp(signal - signal.max(axis=1, keepdims=True))
            thresholds = np.cumsum(odds / odds.sum(axis=1, keepdims=True), axis=1)[:, :-1]
            values[:, v] = (uniform[:, v, None] >= thresholds).sum(axis=1)
    return values


def bound_weights(
    adjacency: Booleans,
    order: Sequence[int],
    weights: Floats,
    noise_sd: Floats,
    levels: Sequence[int],
    most_signal: float,
) -> None:
    """Scale down, in place, the weights of nodes to which their parents may contribute too much.

    Standard deviations of sums are at most sums of standard deviations, and those of scores at
    most 1, so the parents of a node contribute at most ``most_signal`` times the largest noise.
    """
    most = most_signal * float(noise_sd.max(initial=0.0))
    spread = np.full(len(levels), LARGEST_SCORE)
    for v in order:
        parents = np.flatnonzero(adjacency[:, v])
        signal = float(np.abs(weights[parents, v]) @ spread[parents])
        if signal > most:
            weights[parents, v] *= most / signal
            signal = most
        if levels[v] == 0:
            spread[v] = np.hypot(signal, noise_sd[v])


def _draw_scores(parent_levels: int, child_levels: int, rng: np.random.Generator) -> Floats:
    """Scores of an edge: of the levels of a categorical child, in a row for each of the parent's.

    For a continuous child, one column with the scores of the parent's levels.
    """
    if child_levels == 0:
        n_scores = max(parent_levels, 1)
        return rng.permutation(_equal_steps(n_scores))[:, None]
    rows = [rng.permutation(_equal_steps(child_levels)) for _ in range(max(parent_levels, 1))]
    return np.array(rows)


def _equal_steps(n_levels: int) -> Floats:
    return np.linspace(-LARGEST_SCORE, LARGEST_SCORE, n_levels) if n_levels > 1 else np.ones(1)


def _contribution(values: Floats, parent_levels: int, child_levels: int, scores: Floats) -> Floats:
    """What a parent adds to its child, (row, level of the child) or (row, 1)."""
    if parent_levels > 0:
        return np.asarray(scores[values.astype(np.int64)])
    return np.asarray(values[:, None] * scores[0]) if child_levels > 0 else values[:, None]
