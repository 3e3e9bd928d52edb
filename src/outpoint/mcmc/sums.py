"""Sums over parent sets as the samplers need them, and draws from those sums.

*Inside* sets are subsets of a node's candidates, known by their masks; all other admissible sets
are *outside* and known by their places in a list. Those with one member outside the candidates are
*near*: sums over them are tabulated, like those over inside sets (:mod:`outpoint.tables.near`). One
number stands for any of them: the code of a set is its mask, or ``~place``, which is negative.
Formulas: docs/math.md#inside-and-outside-sets.

Which nodes are allowed as parents is said by ``layer`` and ``level``: u is if ``layer[u] < level``.
Samplers over DAGs use layer 0 for allowed and 1 for blocked nodes, and level 1.
"""

import numpy as np

from outpoint.kernels import inlined
from outpoint.tables.logspace import LOG_EPSILON, log_add
from outpoint.tables.view import inside_score, inside_sum, sum_containing

INSIDE = -1
"""Stands in ``held`` for a node whose parents are summed over the inside sets."""

LEAST_SHARE = 1e-3
"""Share of a sum below which what a candidate adds is summed anew: differences are rounded."""

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
def is_open(view, place, allowed, layer, level):
    """Whether an outside set is allowed.

    ``allowed`` is the mask of the allowed candidates: it decides about most sets.
    """
    if view.outside.inside[place] & ~allowed != 0:
        return False
    for k in range(view.outside.members.shape[1]):
        u = view.outside.members[place, k]
        if u < 0:
            break
        if layer[u] >= level:
            return False
    return True


@inlined
def add_outside(view, node, layer, level, total):
    """``total`` with the log sum of the allowed outside sets added."""
    outside = view.outside
    allowed = allowed_mask(view, node, layer, level)
    for place in range(outside.start[node], outside.start[node + 1]):
        if outside.log_tail[place] < total + LOG_EPSILON:
            break
        if is_open(view, place, allowed, layer, level):
            total = log_add(total, outside.score[place])
    return total


@inlined
def log_sum_any(view, node, layer, level):
    """Log sum over all allowed parent sets of ``node``."""
    inside = inside_sum(view, node, allowed_mask(view, node, layer, level))
    return add_outside(view, node, layer, level, inside)


@inlined
def is_tabulated(view, code):
    """Whether a set is an inside or a near one, so that sums over such sets have it."""
    return code >= 0 or view.near.outer[~code] >= 0


@inlined
def log_tabulated(view, node, member, layer, level):
    """Log sum over the allowed inside and near sets of ``node`` that have ``member``.

    Here and below a ``member`` of -1 stands for any, or none.
    """
    allowed = allowed_mask(view, node, layer, level)
    inside = log_inside_with(view, node, member, allowed)
    return log_add(inside, log_near_with(view, node, member, allowed, layer, level))


@inlined
def log_inside_with(view, node, member, allowed):
    """Log sum over the inside sets of ``node`` within ``allowed`` that have ``member``."""
    if member < 0:
        return inside_sum(view, node, allowed)
    position = view.position[node, member]
    return sum_containing(view, node, position, allowed) if position >= 0 else -np.inf


@inlined
def log_near_with(view, node, member, allowed, layer, level):
    """Log sum over the allowed near sets of ``node`` that have ``member``."""
    total = -np.inf
    for j in range(view.near.n_others[node]):
        if layer[view.near.others[node, j]] < level:
            total = log_add(total, near_sum(view, node, j, member, allowed))
    return total


@inlined
def near_sum(view, node, j, member, allowed):
    """Log sum over the near sets of ``node`` with the j-th of the others, and with ``member``."""
    near = view.near
    width, first = near.n_others[node], near.first[node] + j
    if member < 0:
        return near.log_sums[first + allowed * width]
    position = view.position[node, member]
    if position < 0:
        is_member = near.others[node, j] == member
        return near.log_sums[first + allowed * width] if is_member else -np.inf
    whole = near.log_sums[first + allowed * width]
    without = near.log_sums[first + (allowed & ~(1 << position)) * width]
    if without == -np.inf:
        return whole
    share = -np.expm1(without - whole)
    if share > LEAST_SHARE:
        return whole + np.log(share)
    total = -np.inf  # the difference is not known well enough
    row = node * view.n_candidates.size + near.others[node, j]
    for i in range(near.start[row], near.start[row + 1]):
        if near.mask[i] & ~allowed == 0 and near.mask[i] >> position & 1:
            total = log_add(total, view.outside.score[near.place[i]])
    return total


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
def draw_outside(view, node, layer, level, log_total, uniform):
    """The code of an outside set, drawn like an inside one."""
    outside = view.outside
    allowed = allowed_mask(view, node, layer, level)
    chosen = np.int64(0)
    for place in range(outside.start[node], outside.start[node + 1]):
        if is_open(view, place, allowed, layer, level):
            chosen = ~np.int64(place)
            uniform -= np.exp(outside.score[place] - log_total)
            if uniform < 0.0:
                break
    return chosen


@inlined
def draw_tabulated(view, node, member, layer, level, log_total, rng):
    """The code of a set drawn from those of :func:`log_tabulated`, their log sum given."""
    allowed = allowed_mask(view, node, layer, level)
    inside = log_inside_with(view, node, member, allowed)
    uniform = rng.random()
    if uniform < np.exp(inside - log_total):
        if member < 0:
            return draw_inside(view, view.ranked, node, node, allowed, log_total, uniform)
        row = node * view.candidates.shape[1] + view.position[node, member]
        return draw_inside(view, view.containing, row, node, allowed, log_total, uniform)
    near = log_near_with(view, node, member, allowed, layer, level)
    return draw_near(view, node, member, allowed, layer, level, near, rng)


@inlined
def draw_near(view, node, member, allowed, layer, level, log_total, rng):
    """The code of a near set, drawn from those of :func:`log_near_with`, their log sum given.

    The member outside is drawn first, then one of the sets that go with it.
    """
    near = view.near
    uniform = rng.random()
    chosen, log_own = -1, -np.inf
    for j in range(near.n_others[node]):
        if layer[near.others[node, j]] < level:
            log_sum = near_sum(view, node, j, member, allowed)
            if log_sum > -np.inf:
                chosen, log_own = j, log_sum
                uniform -= np.exp(log_sum - log_total)
                if uniform < 0.0:
                    break
    needed = np.int64(0)
    if member >= 0 and view.position[node, member] >= 0:
        needed = np.int64(1) << view.position[node, member]
    row = node * view.n_candidates.size + near.others[node, chosen]
    code = np.int64(0)
    uniform = rng.random()
    for i in range(near.start[row], near.start[row + 1]):
        if near.mask[i] & ~allowed == 0 and near.mask[i] & needed == needed:
            code = ~np.int64(near.place[i])
            uniform -= np.exp(view.outside.score[near.place[i]] - log_own)
            if uniform < 0.0:
                break
    return code


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
    return draw_outside(view, node, layer, level, log_total, uniform - inside)


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
        if is_open(view, place, allowed, layer, level):
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
        if is_open(view, low, allowed, layer, level):
            return ~np.int64(low)
    log_outside = add_outside(view, node, layer, level, -np.inf)
    return draw_outside(view, node, layer, level, log_outside, rng.random())
