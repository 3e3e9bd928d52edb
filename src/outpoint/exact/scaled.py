"""Numbers with an exponent of their own, for sums whose range exceeds that of doubles.

The weight of all DAGs on a set of nodes differs between sets by thousands of log units, but the
sums of this package never subtract what is not of comparable size: precision is not the problem,
range is. So every weight is a double of moderate size times a power of two, whose exponent is a
whole number kept in a double of its own: sums of exponents are exact, cannot overflow, and are
turned into the power itself without leaving the vector registers.

Sums of a node's scores over parent sets, and sums over sets of non-descendants, are zeta transforms
of such numbers. ``w_v(U)`` is the sum of exp(score) over the parent sets of v within U. It grows
with U, and so does its exponent: adding the sum of a smaller set to that of a larger one only ever
scales down, and what then becomes 0 could not have mattered.
"""

from collections.abc import Callable
from math import frexp
from typing import Any, NamedTuple, cast

import numba
import numpy as np
from numba.core import types
from numba.extending import intrinsic

from outpoint.arrays import Floats
from outpoint.kernels import inlined, kernel, run_chunked

LOG_2 = float(np.log(2.0))
LOG_2_HIGH = 46516319 * 2.0**-26
LOG_2_LOW = 1.2996506893889889e-08
"""Log 2 in two parts, of which the first, times an exponent below 2^27, is exact."""

IMPOSSIBLE = -(2.0**40)
"""Exponent of 0. A number, so that differences of exponents always are; sums of 28 stay exact."""

BIAS = 2.0**52 + 1023.0
FLOOR = 2.0**52
"""``FLOOR`` and ``BIAS`` stand for the powers 0 and 1, see :func:`biased_power`."""


class Scaled(NamedTuple):
    """Numbers ``mantissa * 2**exponent``; the exponents are whole."""

    mantissa: Floats
    exponent: Floats

    def log(self, place: int) -> float:
        """Natural log of one entry."""
        with np.errstate(divide="ignore"):
            return float(np.log(self.mantissa[place]) + self.exponent[place] * LOG_2)


def _shifted_bits(typing_context: Any, value: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word = context.get_value_type(types.uint64)
        place = context.get_constant(types.uint64, 52)
        bits = builder.shl(builder.bitcast(arguments[0], word), place)
        return builder.bitcast(bits, context.get_value_type(types.float64))

    return types.float64(types.float64), generate


def _shift_bits(value: float) -> float:
    return float((np.float64(value).view(np.uint64) << np.uint64(52)).view(np.float64))


_exponent_from_low_bits: Callable[[float], float] = (
    _shift_bits if numba.config.DISABLE_JIT else cast(Any, intrinsic(_shifted_bits))
)


@inlined
def biased_power(biased):
    """``2**q`` for ``biased = BIAS + q`` with q at most 0; 0 if q is below -1022.

    The lowest bits of ``2**52 + m`` are the whole number m, and a double whose exponent field is m
    is ``2**(m - 1023)``: one maximum and one shift, which compilers turn into vector code.
    """
    return _exponent_from_low_bits(max(biased, FLOOR))


@inlined
def log_mantissa(log_value, exponent):
    """``log_value - exponent log(2)``, without the rounding errors of a large product."""
    return (log_value - exponent * LOG_2_HIGH) - exponent * LOG_2_LOW


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
def _sum_steps(values, exponent, start, stop, step, to_larger):
    """Add the halves of all pairs ``step`` apart, twice ``step`` apart, ... of a range."""
    while step < stop - start:
        for pair in range(start, stop, 2 * step):
            for low in range(pair, pair + step):
                ratio = biased_power(exponent[low] - exponent[low + step] + BIAS)
                if to_larger:
                    values[low + step] += values[low] * ratio
                else:
                    values[low] += values[low + step] * ratio
        step *= 2
