"""Local scores by prediction, row by row: each row given those before it, starting from the prior.

The product of these predictions is the marginal likelihood, so the scores need no closed form. Only
the rows that are handed over are predicted.
"""

from collections.abc import Sequence
from math import fsum, inf, log, prod

import numpy as np

from tests.reference import gaussian_log_likelihood


def predict_gaussian(
    columns: Sequence[np.ndarray],
    rows: np.ndarray,
    child: int,
    parents: Sequence[int],
    alpha_mu: float = 1.0,
) -> float:
    """BGe or Blocks of one family from these rows; every node has its ``columns``."""
    n_columns = sum(own.shape[1] for own in columns)
    alpha_w = n_columns + alpha_mu + 1
    t = alpha_mu * (alpha_w - n_columns - 1) / (alpha_mu + 1)
    logs = []
    for family in ([*parents, child], list(parents)):
        own = np.hstack([np.zeros((len(rows), 0)), *(columns[u] for u in family)])[rows]
        freedom = alpha_w - n_columns + own.shape[1]
        logs.append(gaussian_log_likelihood(own, alpha_mu, freedom, t * np.eye(own.shape[1])))
    return logs[0] - logs[1]


def code_levels(codes: np.ndarray) -> np.ndarray:
    """Centred contrasts of the observed levels, the eigenvectors of a centring matrix."""
    observed, levels = np.unique(codes, return_inverse=True)
    r = len(observed)
    vectors = np.linalg.eigh(np.eye(r) - 1 / r)[1][:, 1:]
    columns = np.sqrt(r) * vectors[levels]
    return columns - columns.mean(axis=0)


def predict_conditional(
    values: np.ndarray,
    cardinalities: Sequence[int],
    rows: np.ndarray,
    child: int,
    parents: Sequence[int],
    sample_size: float,
) -> float:
    """Conditional Gaussian of one family; continuous columns have the cardinality 0."""
    discrete = [u for u in parents if cardinalities[u]]
    if cardinalities[child]:
        if len(discrete) < len(parents):
            return -inf
        return predict_categorical(
            values.astype(int), cardinalities, rows, child, parents, sample_size
        )
    continuous = [u for u, size in enumerate(cardinalities) if not size]
    columns = [values[:, [u]] if u in continuous else values[:, :0] for u in range(values.shape[1])]
    states = [tuple(row) for row in values[:, discrete]]
    regressors = [u for u in parents if not cardinalities[u]]
    return fsum(
        predict_gaussian(columns, rows & np.array([s == state for s in states]), child, regressors)
        for state in set(states)
    )


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
