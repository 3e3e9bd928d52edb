"""Sums over parent sets as the samplers need them, and draws from those sums.

Parent sets are subsets of a node's candidates. Which of them are allowed is said by ``layer`` and
``level``: u is allowed if ``layer[u] < level``. Samplers over DAGs use layer 0 for allowed and 1
for blocked nodes, and level 1. Ranges of an order array stand for layers: slices are slow in
compiled code.
"""

import numpy as np

from outpoint.kernels import inlined
from outpoint.tables.bits import skip_bit
from outpoint.tables.logspace import log_add


@inlined
def allowed_mask(view, node, layer, level):
    """Mask of a node's allowed candidates."""
    mask = np.int64(0)
    for i in range(view.candidates.shape[1]):
        mask |= np.int64(layer[view.candidates[node, i]] < level) << i
    return mask


@inlined
def log_tau(view, node, order, begin, end, layer, level):
    """Log sum over the parent sets of ``node`` that meet the previous layer, order[begin:end].

    Each set is counted at its first member in that layer, so nothing is subtracted.
    """
    if level == 0:
        return view.dense[node, 0]
    allowed = allowed_mask(view, node, layer, level)
    total = -np.inf
    for place in range(begin, end):
        position = view.position[node, order[place]]
        if position >= 0:
            total = log_add(total, view.omega[node, position, skip_bit(allowed, position)])
            allowed ^= 1 << position
    return total


@inlined
def log_sum_any(view, node, layer, level):
    """Log sum over all allowed parent sets of ``node``."""
    return view.log_sums[node, allowed_mask(view, node, layer, level)]


@inlined
def log_sum_with(view, node, member, layer, level):
    """Log sum over the allowed parent sets of ``node`` that contain ``member``."""
    position = view.position[node, member]
    if position < 0:
        return -np.inf
    return view.omega[node, position, skip_bit(allowed_mask(view, node, layer, level), position)]


@inlined
def draw_set(ranking, row, allowed, log_total, uniform):
    """A ranked set within ``allowed``, drawn with probability exp(score - log_total).

    ``uniform`` lies below the sum of those probabilities; if rounding uses it up too late, the
    last allowed set is returned.
    """
    chosen = np.int64(0)
    for i in range(ranking.start[row], ranking.start[row + 1]):
        mask = np.int64(ranking.mask[i])
        if mask & ~allowed == 0:
            chosen = mask
            uniform -= np.exp(ranking.score[i] - log_total)
            if uniform < 0.0:
                break
    return chosen


@inlined
def sample_meeting(view, node, order, begin, end, layer, level, log_total, rng):
    """Draw a parent set that meets the previous layer; returns its mask.

    ``log_total`` is ``log_tau`` of the same arguments: its parts, one per member of the previous
    layer, are gone through in the same order.
    """
    if level == 0:
        return np.int64(0)
    uniform = rng.random()
    allowed = allowed_mask(view, node, layer, level)
    row = -1
    within = allowed
    left = uniform
    for place in range(begin, end):
        position = view.position[node, order[place]]
        if position >= 0:
            part = np.exp(view.omega[node, position, skip_bit(allowed, position)] - log_total)
            if part > 0.0:
                row = node * view.candidates.shape[1] + position
                within = allowed
                left = uniform
                if uniform < part:
                    break
                uniform -= part
            allowed ^= 1 << position
    return draw_set(view.containing, row, within, log_total, left)


@inlined
def sample_any(view, node, layer, level, log_total, rng):
    """Draw an allowed parent set; ``log_total`` is ``log_sum_any``. Returns its mask."""
    allowed = allowed_mask(view, node, layer, level)
    return draw_set(view.ranked, node, allowed, log_total, rng.random())


@inlined
def sample_with(view, node, member, layer, level, log_total, rng):
    """Draw an allowed parent set with ``member``; ``log_total`` is ``log_sum_with``."""
    allowed = allowed_mask(view, node, layer, level)
    row = node * view.candidates.shape[1] + view.position[node, member]
    return draw_set(view.containing, row, allowed, log_total, rng.random())
