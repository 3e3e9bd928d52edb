"""Sums of a node's scores over parent sets, and sums over sets of non-descendants: scaled zetas.

``w_v(U)`` is the sum of exp(score) over the parent sets of v within U. It grows with U, and so does
its exponent: adding the sum of a smaller set to that of a larger one only ever scales down, and
what then becomes 0 could not have mattered.
"""

from math import frexp

import numpy as np

from outpoint.arrays import Floats
from outpoint.exact.scaled import BIAS, IMPOSSIBLE, LOG_2, Scaled, biased_power, log_mantissa
from outpoint.kernels import inlined, kernel, run_chunked

CACHED = 1 << 13
"""Entries on which all sums over the lowest members are done before the next ones are read."""


def sum_scores(scores: Floats, maxima: Floats) -> Scaled:
    """``w_v(U)`` for all U, from scores by mask and their maxima over subsets.

    The mantissas are in [0.5, 1), or 0 with the exponent ``IMPOSSIBLE``; the exponents grow with U.
    """
    weights = Scaled(np.empty_like(scores), np.empty_like(scores))

    def work(start: int, stop: int) -> None:
        for node in range(start, stop):
            _sum_node(scores[node], maxima[node], weights.mantissa[node], weights.exponent[node])

    run_chunked(work, len(scores))
    return weights


@kernel
def _sum_node(scores, maxima, mantissa, exponent):
    for mask in range(scores.size):
        exponent[mask] = max(np.rint(maxima[mask] / LOG_2), IMPOSSIBLE)
        mantissa[mask] = np.exp(log_mantissa(scores[mask], exponent[mask]))
    block = min(CACHED, scores.size)
    for start in range(0, scores.size, block):
        _sum_steps(mantissa, exponent, start, start + block, 1, True)
    _sum_steps(mantissa, exponent, 0, scores.size, block, True)
    for mask in range(scores.size):
        if mantissa[mask] == 0.0:
            exponent[mask] = IMPOSSIBLE
        else:
            mantissa[mask], shift = frexp(mantissa[mask])
            exponent[mask] += shift


@kernel
def sum_over_larger(values, exponent):
    """In place: ``values[S]`` becomes the sum of ``values[P] 2^(exponent[S] - exponent[P])``.

    P runs over all sets that contain S.
    """
    block = min(CACHED, values.size)
    for start in range(0, values.size, block):
        _sum_steps(values, exponent, start, start + block, 1, False)
    _sum_steps(values, exponent, 0, values.size, block, False)


@inlined
def _sum_steps(values, exponent, start, stop, step, upward):
    """Add the halves of all pairs ``step`` apart, twice ``step`` apart, ... of a range."""
    while step < stop - start:
        for pair in range(start, stop, 2 * step):
            for low in range(pair, pair + step):
                ratio = biased_power(exponent[low] - exponent[low + step] + BIAS)
                if upward:
                    values[low + step] += values[low] * ratio
                else:
                    values[low] += values[low + step] * ratio
        step *= 2
