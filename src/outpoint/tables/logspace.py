"""Sets of nodes as bit masks, and sums of log weights over them.

Sums and their subset transforms never leave log space.

The scores of one node spread over thousands of log units, so linear doubles underflow; each
addition here keeps full relative precision whatever the spread. Formulas:
docs/math.md#sums-over-parent-sets.
"""

import numpy as np

from outpoint.kernels import inlined, jitable, kernel


@jitable
def skip_bit(mask, position):
    """``mask`` renumbered without the bit at ``position``."""
    low = mask & ((1 << position) - 1)
    return low | ((mask >> (position + 1)) << position)


@jitable
def insert_bit(mask, position):
    """Inverse of :func:`skip_bit`, the new bit being 0."""
    low = mask & ((1 << position) - 1)
    return low | ((mask >> position) << (position + 1))


@inlined
def count_bits(mask):
    """Number of members of a small set."""
    count = 0
    while mask:
        mask &= mask - 1
        count += 1
    return count


EPSILON = 1e-11
LOG_EPSILON = np.log(EPSILON)
"""Scans of ranked scores stop once all that is left is below this fraction of what they found."""


@kernel
def log_add(a, b):
    """log(exp(a) + exp(b)), exact to rounding, -inf allowed."""
    if a < b:
        a, b = b, a
    # Below e^-40 the smaller term cannot change a double.
    if b == -np.inf or b < a - 40.0:
        return a
    return a + np.log1p(np.exp(b - a))


@kernel
def sum_over_subsets(values):
    """In place: ``values[U]`` becomes the log sum of exp(values[S]) over all S within U."""
    step = 1
    while step < values.size:
        for block in range(0, values.size, 2 * step):
            for low in range(block, block + step):
                values[low + step] = log_add(values[low + step], values[low])
        step *= 2


@kernel
def max_over_subsets(values):
    """In place: ``values[U]`` becomes the maximum of values[S] over all S within U."""
    step = 1
    while step < values.size:
        for block in range(0, values.size, 2 * step):
            for low in range(block, block + step):
                values[low + step] = max(values[low + step], values[low])
        step *= 2


@kernel
def best_subsets(values):
    """For every U, which S within U has the largest value; of equal ones a smaller one."""
    best = np.arange(values.size)
    step = 1
    while step < values.size:
        for block in range(0, values.size, 2 * step):
            for low in range(block, block + step):
                if values[best[low]] >= values[best[low + step]]:
                    best[low + step] = best[low]
        step *= 2
    return best
