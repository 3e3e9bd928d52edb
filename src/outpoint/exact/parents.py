"""A parent set drawn by its score, from sums over subsets alone.

Members are decided one at a time: the sets within P that contain A and not j are those within
P - j that contain A, whose sum is an alternating one of 2^|A| sums over subsets. Rounding errors
are relative to the sum over all sets, so that they can only show where sets are drawn that
hardly ever are; such sets are listed one by one instead, and sets that are not admissible are
never drawn.
"""

import numpy as np

from outpoint.exact.scaled import BIAS, biased_power
from outpoint.kernels import inlined, kernel
from outpoint.tables.bits import count_bits

RARE = 1e-9
"""Share of the weight below which sets are listed: differences then lose their last digits."""


@kernel
def sample_parents(scores, factor, shift, allowed, required, rng):
    """Draw a set within ``allowed`` that meets ``required``, both masks, by its score."""
    whole = factor[allowed]
    if whole - _relative_sum(factor, shift, allowed & ~required, shift[allowed]) < RARE * whole:
        return _sample_listed(scores, allowed, required, rng)
    chosen = _sample_members(factor, shift, allowed, required, rng)
    while scores[chosen] == -np.inf:
        chosen = _sample_members(factor, shift, allowed, required, rng)
    return chosen


@inlined
def _sample_members(factor, shift, allowed, required, rng):
    """Decide on the members of ``required`` until one is in, then on all others."""
    unit = shift[allowed]
    chosen = 0
    left = required
    while chosen == 0:
        member = left & -left
        whole = _relative_sum(factor, shift, allowed, unit)
        meeting = whole - _relative_sum(factor, shift, allowed & ~left, unit)
        weight = whole - _relative_sum(factor, shift, allowed ^ member, unit)
        left ^= member
        if left == 0 or rng.random() * meeting < weight:
            chosen = member
        else:
            allowed ^= member
    undecided = allowed ^ chosen
    while undecided:
        member = undecided & -undecided
        undecided ^= member
        without = _containing_sum(factor, shift, allowed ^ member, chosen, unit)
        if rng.random() * weight < without:
            allowed ^= member
            weight = without
        else:
            chosen |= member
            weight -= without
    return chosen


@inlined
def _relative_sum(factor, shift, mask, unit):
    """The sum over the subsets of ``mask`` in units of ``2**unit``."""
    return factor[mask] * biased_power(shift[mask] - unit + BIAS)


@inlined
def _containing_sum(factor, shift, mask, members, unit):
    """The sum over the subsets of ``mask`` that contain ``members``."""
    total = 0.0
    taken = members
    while True:
        term = _relative_sum(factor, shift, mask ^ taken, unit)
        total += -term if count_bits(taken) & 1 else term
        if taken == 0:
            return total
        taken = (taken - 1) & members


@inlined
def _sample_listed(scores, allowed, required, rng):
    """Draw a set within ``allowed`` that meets ``required`` from a list of all of them."""
    top = -np.inf
    subset = allowed
    while subset:
        if subset & required:
            top = max(top, scores[subset])
        subset = (subset - 1) & allowed
    total = 0.0
    chosen = 0
    subset = allowed
    while subset:
        if subset & required and scores[subset] > -np.inf:
            weight = np.exp(scores[subset] - top)
            total += weight
            if rng.random() * total < weight:
                chosen = subset
        subset = (subset - 1) & allowed
    return chosen
