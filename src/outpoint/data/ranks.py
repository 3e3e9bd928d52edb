"""Normal scores: what stands for values of which only the order is trusted.

The value with rank r of n becomes the quantile r / (n + 1) of the standard normal distribution
(van der Waerden); equal values share the mean of their ranks.

Formulas: docs/math.md#normal-scores.
"""

import numpy as np

from outpoint.arrays import Floats


def normal_scores(values: Floats) -> Floats:
    """The normal scores of complete values."""
    from scipy.special import ndtri

    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(count)
    mean_rank = last - (count - 1) / 2
    scores = ndtri(mean_rank / (len(values) + 1))
    return np.asarray(scores[place.reshape(len(values))], dtype=np.float64)
