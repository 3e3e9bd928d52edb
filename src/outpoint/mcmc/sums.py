"""Sums over parent sets as the samplers need them, and draws from those sums.

*Inside* sets are subsets of a node's candidates, known by their masks; all other admissible sets
are *outside* and known by their places in a list. One number stands for either: the code of a set
is its mask, or ``~place``, which is negative. Formulas: docs/math.md#inside-and-outside-sets.

Which nodes are allowed as parents is said by ``layer`` and ``level``: u is if ``layer[u] < level``.
Samplers over DAGs use layer 0 for allowed and 1 for blocked nodes, and level 1.
"""

import numpy as np

from outpoint.kernels import inlined
from outpoint.tables.logspace import LOG_EPSILON, log_add
from outpoint.tables.view import inside_score, inside_sum, sum_containing

INSIDE = -1
"""Stands in ``held`` for a node whose parents are summed over the inside sets."""

REFUSALS = 8
"""Sets of a list that are drawn without a look at which are allowed, at most."""


@inlined
def allowed_mask(view, node, layer, level):
    """Mask of a node's allowed candidates."""
    mask = np.int64(0)
    for i in range(view.n_candidates[node]):
        mask |= np.int64(layer[view.candidates[node, i]] < level) << i
    return mask


@inlined
def previous_mask(view, node, layer, level):
    """Mask of a node's candidates in the layer before ``level``."""
    mask = np.int64(0)
    for i in range(view.n_candidates[node]):
        mask |= np.int64(layer[view.candidates[node, i]] == level - 1) << i
    return mask


@inlined
def log_meeting(view, node, allowed, previous):
    """Log sum over the inside sets within ``allowed`` that meet ``previous``.

    Each set is counted at its first member in ``previous``, so nothing is subtracted.
    """
    total = -np.inf
    position = 0
    while previous >> position != 0:
        if previous >> position & 1:
            total = log_add(total, sum_containing(view, node, position, allowed))
            allowed ^= 1 << position
        position += 1
    return total


@inlined
def log_inside(view, node, layer, level):
    """Log sum over the inside sets of ``node`` that meet the layer before ``level``."""
    if level == 0:
        return inside_score(view, node, 0)
    allowed = allowed_mask(view, node, layer, level)
    return log_meeting(view, node, allowed, previous_mask(view, node, layer, level))


@inlined
def highest_layer(view, place, layer, excepted):
    """The last layer that an outside set reaches, one node excepted (-1: none); -1 without members.

    It fits at the level right after that.
    """
    highest = -1
    for k in range(view.outside.members.shape[1]):
        u = view.outside.members[place, k]
        if u < 0:
            break
        if u != excepted:
            highest = max(highest, layer[u])
    return highest


@inlined
def log_tau(view, node, layer, level, held):
    """The log weight of ``node`` in a partition: of the inside sets, or of the set it holds."""
    if held == INSIDE:
        return log_inside(view, node, layer, level)
    is_fitting = highest_layer(view, held, layer, -1) == level - 1
    return view.outside.score[held] if is_fitting else -np.inf


@inlined
def is_open(view, place, allowed, layer, level, member):
    """Whether an outside set is allowed and contains ``member``, if that is not -1.

    ``allowed`` is the mask of the allowed candidates: it decides about most sets.
    """
    if view.outside.inside[place] & ~allowed != 0:
        return False
    has_member = member < 0
    for k in range(view.outside.members.shape[1]):
        u = view.outside.members[place, k]
        if u < 0:
            break
        if layer[u] >= level:
            return False
        has_member = has_member or u == member
    return has_member


@inlined
def add_outside(view, node, layer, level, member, total):
    """``total`` with the log sum of the allowed outside sets (with ``member``) added."""
    outside = view.outside
    allowed = allowed_mask(view, node, layer, level)
    for place in range(outside.start[node], outside.start[node + 1]):
        if outside.log_tail[place] < total + LOG_EPSILON:
            break
        if is_open(view, place, allowed, layer, level, member):
            total = log_add(total, outside.score[place])
    return total


@inlined
def log_sum_any(view, node, layer, level):
    """Log sum over all allowed parent sets of ``node``."""
    inside = inside_sum(view, node, allowed_mask(view, node, layer, level))
    return add_outside(view, node, layer, level, -1, inside)


@inlined
def log_inside_with(view, node, member, layer, level):
    """Log sum over the allowed inside sets of ``node`` that contain ``member``."""
    position = view.position[node, member]
    if position < 0:
        return -np.inf
    return sum_containing(view, node, position, allowed_mask(view, node, layer, level))


@inlined
def log_sum_with(view, node, member, layer, level):
    """Log sum over the allowed parent sets of ``node`` that contain ``member``."""
    inside = log_inside_with(view, node, member, layer, level)
    return add_outside(view, node, layer, level, member, inside)


@inlined
def draw_inside(view, ranking, row, node, allowed, log_total, uniform):
    """A ranked set within ``allowed``, drawn with probability exp(score - log_total).

    ``uniform`` lies below the sum of those probabilities; if rounding uses it up too late, the
    last allowed set is returned.
    """
    chosen = np.int64(0)
    for i in range(ranking.start[row], ranking.start[row + 1]):
        mask = np.int64(ranking.mask[i])
        if mask & ~allowed == 0:
            chosen = mask
            uniform -= np.exp(inside_score(view, node, mask) - log_total)
            if uniform < 0.0:
                break
    return chosen


@inlined
def draw_outside(view, node, layer, level, member, log_total, uniform):
    """The code of an outside set, drawn like an inside one."""
    outside = view.outside
    allowed = allowed_mask(view, node, layer, level)
    chosen = np.int64(0)
    for place in range(outside.start[node], outside.start[node + 1]):
        if is_open(view, place, allowed, layer, level, member):
            chosen = ~np.int64(place)
            uniform -= np.exp(outside.score[place] - log_total)
            if uniform < 0.0:
                break
    return chosen


@inlined
def sample_meeting(view, node, layer, level, log_total, rng):
    """Draw an inside set that meets the previous layer; ``log_total`` is ``log_inside``."""
    if level == 0:
        return np.int64(0)
    allowed = allowed_mask(view, node, layer, level)
    previous = previous_mask(view, node, layer, level)
    return sample_within(view, node, allowed, previous, log_total, rng)


@inlined
def sample_within(view, node, allowed, previous, log_total, rng):
    """Draw an inside set within ``allowed`` that meets ``previous``, see :func:`log_meeting`."""
    uniform = rng.random()
    row = -1
    within = allowed
    left = uniform
    for position in range(view.n_candidates[node]):
        if previous >> position & 1:
            part = np.exp(sum_containing(view, node, position, allowed) - log_total)
            if part > 0.0:
                row = node * view.candidates.shape[1] + position
                within = allowed
                left = uniform
                if uniform < part:
                    break
                uniform -= part
            allowed ^= 1 << position
    return draw_inside(view, view.containing, row, node, within, log_total, left)


@inlined
def sample_any(view, node, layer, level, log_total, rng):
    """Draw an allowed parent set; ``log_total`` is ``log_sum_any``. Returns its code."""
    allowed = allowed_mask(view, node, layer, level)
    uniform = rng.random()
    inside = np.exp(inside_sum(view, node, allowed) - log_total)
    if uniform < inside or view.outside.score.size == 0:
        return draw_inside(view, view.ranked, node, node, allowed, log_total, uniform)
    return draw_outside(view, node, layer, level, -1, log_total, uniform - inside)


@inlined
def draw_any(view, node, layer, level, rng):
    """Draw an allowed parent set by its weight, and return its code.

    Outside sets are gone through only as far as it takes to know whether one of them is drawn: the
    sum of those still ahead bounds what they can weigh.
    """
    allowed = allowed_mask(view, node, layer, level)
    inside = inside_sum(view, node, allowed)
    if inside == -np.inf:
        log_total = log_sum_any(view, node, layer, level)
        return sample_any(view, node, layer, level, log_total, rng)
    outside, stop = view.outside, view.outside.start[node + 1]
    place = outside.start[node]
    most = 1.0 / (1.0 - rng.random())  # the inside sets win if all together weigh less
    found = 1.0  # what is known to be allowed, relative to the inside sets
    log_left = inside + np.log(most - found)
    while place < stop and outside.log_tail[place] >= log_left:
        if is_open(view, place, allowed, layer, level, -1):
            found += np.exp(outside.score[place] - inside)
            if found >= most:
                return _draw_listed(view, node, allowed, layer, level, rng)
            log_left = inside + np.log(most - found)
        place += 1
    return draw_inside(view, view.ranked, node, node, allowed, inside, rng.random())


@inlined
def _draw_listed(view, node, allowed, layer, level, rng):
    """Draw an allowed outside set by its weight, and return its code; there is one.

    A few times a set of the whole list is drawn, which is allowed or is not: that takes no more
    than a look into the list. Where the best sets are not allowed all of it is gone through.
    """
    outside = view.outside
    first, stop = outside.start[node], outside.start[node + 1]
    for _ in range(REFUSALS):
        log_pick = outside.log_tail[first] + np.log(1.0 - rng.random())
        low, high = first, stop  # the last place whose tail is at least that
        while high - low > 1:
            middle = (low + high) // 2
            if outside.log_tail[middle] >= log_pick:
                low = middle
            else:
                high = middle
        if is_open(view, low, allowed, layer, level, -1):
            return ~np.int64(low)
    log_outside = add_outside(view, node, layer, level, -1, -np.inf)
    return draw_outside(view, node, layer, level, -1, log_outside, rng.random())


@inlined
def sample_with(view, node, member, layer, level, log_total, rng):
    """Draw an allowed parent set with ``member``; ``log_total`` is ``log_sum_with``."""
    uniform = rng.random()
    inside = np.exp(log_inside_with(view, node, member, layer, level) - log_total)
    if uniform < inside or view.outside.score.size == 0:
        allowed = allowed_mask(view, node, layer, level)
        row = node * view.candidates.shape[1] + view.position[node, member]
        return draw_inside(view, view.containing, row, node, allowed, log_total, uniform)
    return draw_outside(view, node, layer, level, member, log_total, uniform - inside)
