"""Questions to a score table, compiled: sums, maxima and draws over admissible parent sets.

Which parents are admissible is said by a number per node, ``layer``, and a ``level``: node u is
allowed if ``layer[u] < level``, and required sets must also meet ``layer[u] == level - 1``. For
a labelled partition these are the layers themselves, for an order the positions; nothing here
limits the number of nodes.
"""

import numpy as np

from outpoint.kernels import kernel
from outpoint.tables.bits import skip_bit
from outpoint.tables.logspace import log_add

EPSILON = 1e-11
LOG_EPSILON = np.log(EPSILON)
"""Scans stop once all that is left is below this fraction of what they have found."""


@kernel
def candidate_masks(candidates, layer, level):
    """Masks of a node's allowed candidates and of those in the previous layer."""
    allowed = 0
    previous = 0
    for i in range(candidates.size):
        u = layer[candidates[i]]
        if u < level:
            allowed |= 1 << i
            if u == level - 1:
                previous |= 1 << i
    return allowed, previous


@kernel
def dense_log_tau(omega, allowed, previous):
    """Log sum over candidate subsets within ``allowed`` that meet ``previous``.

    Subtraction-free: each set is counted at its first member of ``previous``.
    """
    total = -np.inf
    for position in range(omega.shape[0]):
        if previous >> position & 1:
            total = log_add(total, omega[position, skip_bit(allowed, position)])
            allowed ^= 1 << position
    return total


@kernel
def is_admissible(members, layer, level, must_meet):
    """Whether an outside set is allowed and, if ``must_meet``, meets the previous layer."""
    met = not must_meet
    for u in members:
        if u < 0:
            break
        if layer[u] >= level:
            return False
        if layer[u] == level - 1:
            met = True
    return met


@kernel
def add_outside(outside, child, layer, level, must_meet, total):
    """``total`` with the log sum of the admissible outside sets added."""
    for i in range(outside.start[child], outside.start[child + 1]):
        if outside.log_tail[i] < total + LOG_EPSILON:
            break
        if is_admissible(outside.members[i], layer, level, must_meet):
            total = log_add(total, outside.score[i])
    return total


@kernel
def log_tau(candidates, omega, outside, child, layer, level):
    """tau: log sum over allowed parent sets that meet the previous layer."""
    allowed, previous = candidate_masks(candidates[child], layer, level)
    total = dense_log_tau(omega[child], allowed, previous)
    return add_outside(outside, child, layer, level, True, total)


@kernel
def log_sum(candidates, log_sums, outside, child, layer, level):
    """Log sum over all allowed parent sets."""
    allowed, _ = candidate_masks(candidates[child], layer, level)
    return add_outside(outside, child, layer, level, False, log_sums[child, allowed])


@kernel
def first_outside(outside, child, layer, level, must_meet, floor):
    """Index of the best admissible outside set, or -1 if none exceeds ``floor``."""
    for i in range(outside.start[child], outside.start[child + 1]):
        if outside.score[i] <= floor:
            return -1
        if is_admissible(outside.members[i], layer, level, must_meet):
            return i
    return -1


@kernel
def log_max(candidates, maxima, outside, child, layer, level):
    """Score of the best allowed parent set."""
    allowed, _ = candidate_masks(candidates[child], layer, level)
    best = maxima[child, allowed]
    i = first_outside(outside, child, layer, level, False, best)
    return outside.score[i] if i >= 0 else best


@kernel
def first_ranked(ranked, child, allowed, previous, must_meet):
    """Index of the best admissible candidate subset, or -1."""
    for i in range(ranked.start[child], ranked.start[child + 1]):
        mask = np.int64(ranked.mask[i])
        if mask & ~allowed == 0 and (not must_meet or mask & previous != 0):
            return i
    return -1


@kernel
def scan_ranked(ranked, child, allowed, previous, must_meet):
    """Log sum over admissible candidate subsets, read off the ranking (no omega needed)."""
    total = -np.inf
    for i in range(ranked.start[child], ranked.start[child + 1]):
        if ranked.log_tail[i] < total + LOG_EPSILON:
            break
        mask = np.int64(ranked.mask[i])
        if mask & ~allowed == 0 and (not must_meet or mask & previous != 0):
            total = log_add(total, ranked.score[i])
    return total


@kernel
def draw_ranked(ranked, child, allowed, previous, must_meet, log_total, uniform):
    """Index of an admissible candidate subset drawn with probability score / total."""
    chosen = -1
    for i in range(ranked.start[child], ranked.start[child + 1]):
        mask = np.int64(ranked.mask[i])
        if mask & ~allowed == 0 and (not must_meet or mask & previous != 0):
            chosen = i
            uniform -= np.exp(ranked.score[i] - log_total)
            if uniform < 0.0:
                break
    return chosen


@kernel
def draw_outside(outside, child, layer, level, must_meet, log_total, uniform):
    """Index of an admissible outside set drawn with probability score / total."""
    chosen = -1
    for i in range(outside.start[child], outside.start[child + 1]):
        if is_admissible(outside.members[i], layer, level, must_meet):
            chosen = i
            uniform -= np.exp(outside.score[i] - log_total)
            if uniform < 0.0:
                break
    return chosen


@kernel
def sample_parents(candidates, ranked, outside, child, layer, level, must_meet, rng, parents):
    """Draw an admissible parent set; write it to ``parents`` and return its size (-1: none)."""
    allowed, previous = candidate_masks(candidates[child], layer, level)
    dense = scan_ranked(ranked, child, allowed, previous, must_meet)
    total = add_outside(outside, child, layer, level, must_meet, dense)
    if total == -np.inf:
        return -1
    uniform = rng.random()
    inside = np.exp(dense - total)
    size = 0
    if uniform < inside:
        i = draw_ranked(ranked, child, allowed, previous, must_meet, total, uniform)
        mask = np.int64(ranked.mask[i])
        for position in range(candidates.shape[1]):
            if mask >> position & 1:
                parents[size] = candidates[child, position]
                size += 1
    else:
        i = draw_outside(outside, child, layer, level, must_meet, total, uniform - inside)
        for u in outside.members[i]:
            if u >= 0:
                parents[size] = u
                size += 1
    return size
