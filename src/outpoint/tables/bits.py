"""Sets of nodes as bit masks."""

from outpoint.kernels import inlined, kernel


@kernel
def skip_bit(mask, position):
    """``mask`` renumbered without the bit at ``position``."""
    low = mask & ((1 << position) - 1)
    return low | ((mask >> (position + 1)) << position)


@kernel
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
