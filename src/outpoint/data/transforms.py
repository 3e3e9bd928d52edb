"""What stands for the values of a column that is not taken as it is: levels, or normal scores.

Levels are intervals ``(a, b]`` between cut points, which are observed values, so that equal values
always share a level and no level is empty. Positions are computed in whole numbers: no rounding
decides where a tied value goes.

Normal scores stand for values of which only the order is trusted. The value with rank r of n
becomes the quantile r / (n + 1) of the standard normal distribution (van der Waerden); equal values
share the mean of their ranks.

Formulas: docs/math.md#normal-scores.
"""

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from outpoint.arrays import Floats


def quantile_bins(
    column: npt.NDArray[np.float64], bins: int
) -> tuple[npt.NDArray[np.float64], tuple[str, ...]]:
    """Level codes and readable labels for at most ``bins`` levels of about equal size."""
    distinct, ranks = np.unique(column, return_inverse=True)
    if distinct.size <= bins:
        return ranks.astype(np.float64), distinct_labels(distinct)
    ordered = np.sort(column)
    positions = [-(-i * column.size // bins) - 1 for i in range(1, bins)]
    # A cut at the maximum would leave nothing above it: cut just below, so that the maximum, which
    # then has a large share of the values, is a level of its own.
    cuts = np.unique(np.minimum(ordered[positions], distinct[-2]))
    codes = np.searchsorted(cuts, column, side="left")
    ends = distinct_labels(cuts)
    inner = [f"({low}, {high}]" for low, high in pairwise(ends)]
    return codes.astype(np.float64), (f"<= {ends[0]}", *inner, f"> {ends[-1]}")


def distinct_labels(values: npt.NDArray[np.float64]) -> tuple[str, ...]:
    """Short texts for distinct numbers: four digits if these tell them apart, all if not."""
    short = tuple(f"{value:.4g}" for value in values)
    if len(set(short)) == len(short):
        return short
    return exact_labels(values)


def exact_labels(values: npt.NDArray[np.float64]) -> tuple[str, ...]:
    """The numbers as text without loss; whole numbers without a decimal point."""
    whole = (float(value).is_integer() and abs(value) < 1e16 for value in values)
    return tuple(
        str(int(value)) if is_whole else repr(float(value))
        for value, is_whole in zip(values, whole, strict=True)
    )


def normal_scores(values: Floats) -> Floats:
    """The normal scores of complete values."""
    from scipy.special import ndtri

    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(count)
    mean_rank = last - (count - 1) / 2
    scores = ndtri(mean_rank / (len(values) + 1))
    return np.asarray(scores[place.reshape(len(values))], dtype=np.float64)
