"""Sets of nodes as bit masks."""

import numpy as np

from outpoint.kernels import inlined


@inlined
def skip_bit(mask, position):
    """``mask`` renumbered without the bit at ``position``."""
    low = mask & ((1 << position) - 1)
    return low | ((mask >> (position + 1)) << position)


@inlined
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


@inlined
def mask_members(mask, candidates, out):
    """Write the candidates whose bit is set to ``out``; return how many."""
    size = 0
    for i in range(candidates.size):
        if mask >> np.uint32(i) & np.uint32(1):
            out[size] = candidates[i]
            size += 1
    return size
