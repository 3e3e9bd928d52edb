"""Local scores by prediction, row by row: each row given those before it, starting from the prior.

The product of these predictions is the marginal likelihood, so the scores need no closed form. Only
the rows that are handed over are predicted.
"""

from collections.abc import Sequence
from math import fsum, log, prod

import numpy as np
from scipy import stats


def log_prediction_of_gaussian_rows(
    rows: np.ndarray, alpha: float, t: float, alpha_mu: float
) -> float:
    """Rows of l columns with a normal-Wishart prior: predictions are multivariate t."""
    size = rows.shape[1]
    if size == 0:
        return 0.0
    mean, weight, matrix = np.zeros(size), alpha_mu, t * np.eye(size)
    terms = []
    for x in rows:
        freedom = alpha - size + 1
        shape = matrix * (weight + 1) / (weight * freedom)
        terms.append(float(stats.multivariate_t.logpdf(x, mean, shape, freedom)))
        gap = x - mean
        matrix = matrix + weight / (weight + 1) * np.outer(gap, gap)
        mean = mean + gap / (weight + 1)
        weight, alpha = weight + 1, alpha + 1
    return fsum(terms)


def predict_gaussian(
    values: np.ndarray, rows: np.ndarray, child: int, parents: Sequence[int], alpha_mu: float = 1.0
) -> float:
    """BGe of one family from these rows."""
    n = values.shape[1]
    alpha_w = n + alpha_mu + 1
    t = alpha_mu * (alpha_w - n - 1) / (alpha_mu + 1)
    joint, given = (
        log_prediction_of_gaussian_rows(values[rows][:, own], alpha_w - n + len(own), t, alpha_mu)
        for own in ([*parents, child], list(parents))
    )
    return joint - given


def predict_categorical(
    codes: np.ndarray,
    cardinalities: Sequence[int],
    rows: np.ndarray,
    child: int,
    parents: Sequence[int],
    sample_size: float,
) -> float:
    """BDeu of one family from these rows: an urn for each configuration of the parents."""
    r = int(cardinalities[child])
    cell = sample_size / (r * prod(int(cardinalities[u]) for u in parents))
    urns: dict[tuple[int, ...], list[float]] = {}
    terms = []
    for row in codes[rows].tolist():
        urn = urns.setdefault(tuple(row[u] for u in parents), [cell] * r)
        terms.append(log(urn[row[child]] / sum(urn)))
        urn[row[child]] += 1
    return fsum(terms)
