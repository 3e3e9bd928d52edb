"""Put one node anywhere, by the posterior itself: a move without rejection.

Take node v out; m layers remain. For the nodes u of a remaining layer four sums can occur: v not
available to u (``absent``), available but not in the layer before u's (``early``), in the layer
before (``beside``), or alone in the layer before (``alone``). With these per layer, prefix and
suffix sums give the weight of joining each layer and of standing alone in each gap, 2m + 1
placements in all, at the cost of scoring the partition about three times (MATH section 5).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from outpoint.kernels import inlined, kernel
from outpoint.mcmc.moves.relocation import relocate
from outpoint.mcmc.partition import PartitionState, copy_partition, make_partition
from outpoint.tables.bits import skip_bit
from outpoint.tables.logspace import log_add

ABSENT, EARLY, BESIDE, ALONE = 0, 1, 2, 3


class Placement(NamedTuple):
    """Scratch space: the partition without the node, and sums of each kind by node and layer."""

    rest: PartitionState
    by_node: NDArray[np.float64]
    by_layer: NDArray[np.float64]
    own: NDArray[np.float64]
    allowed: NDArray[np.int32]
    log_weight: NDArray[np.float64]


@kernel
def make_placement(n):
    """Scratch space for ``n`` nodes."""
    return Placement(
        make_partition(n),
        np.zeros((4, n)),
        np.zeros((4, n + 2)),
        np.zeros(n + 1),
        np.zeros(n, dtype=np.int32),
        np.zeros(2 * n + 1),
    )


@inlined
def place_node(view, state, node, power, scratch, rng):
    """Draw a place for ``node`` from the partition posterior to the ``power``.

    Returns whether the partition has changed.
    """
    rest = scratch.rest
    level = state.layer[node]
    was_alone = state.start[level + 1] - state.start[level] == 1
    n_layers = _take_out(state, node, rest)
    _sum_layers(view, state, rest, node, n_layers, scratch)
    target, is_new = _draw_place(n_layers, power, scratch, rng)
    if target == level and is_new == was_alone:
        return False
    relocate(state, node, target, is_new, rest)
    # ``rest`` is the new partition from here on.
    touched = target if is_new else target + 1
    for place in range(rest.order.size):
        u = rest.order[place]
        level = rest.layer[u]
        if u != node:
            remaining = level - 1 if is_new and level > target else level
            kind = ABSENT if remaining < touched else EARLY
            if remaining == touched:
                kind = ALONE if is_new else BESIDE
            rest.log_tau[u] = scratch.by_node[kind, u]
    rest.log_tau[node] = scratch.own[target]
    copy_partition(rest, state)
    return True


@inlined
def _take_out(state, node, rest):
    """Write the partition without ``node``, which gets a layer after all others."""
    place = 0
    level = 0
    for old in range(state.n_layers[0]):
        first, last = state.start[old], state.start[old + 1]
        if last - first == 1 and state.order[first] == node:
            continue
        rest.start[level] = place
        for i in range(first, last):
            u = state.order[i]
            if u != node:
                rest.order[place] = u
                rest.layer[u] = level
                place += 1
        level += 1
    rest.start[level] = place
    rest.layer[node] = state.order.size
    return level


@inlined
def _sum_layers(view, state, rest, node, n_layers, scratch):
    """Fill the four sums of every remaining node and layer, and the node's own by layer."""
    allowed = scratch.allowed
    n = allowed.size
    for u in range(n):
        allowed[u] = 0
    begin = end = 0
    for level in range(n_layers):
        scratch.own[level] = _log_tau_within(view, node, rest, begin, end, level, allowed[node])
        for kind in range(4):
            scratch.by_layer[kind, level] = 0.0
        for place in range(rest.start[level], rest.start[level + 1]):
            u = rest.order[place]
            _sum_node(view, state, rest, node, u, begin, end, level, scratch)
            for kind in range(4):
                scratch.by_layer[kind, level] += scratch.by_node[kind, u]
        begin, end = rest.start[level], rest.start[level + 1]
        for place in range(begin, end):
            for u in range(n):
                allowed[u] |= view.bit[rest.order[place], u]
    scratch.own[n_layers] = _log_tau_within(view, node, rest, begin, end, n_layers, allowed[node])


@inlined
def _log_tau_within(view, node, rest, begin, end, level, allowed):
    """``log_tau`` where the mask of allowed candidates is known."""
    total = view.dense[node, 0] if level == 0 else -np.inf
    for place in range(begin, end):
        position = view.position[node, rest.order[place]]
        if position >= 0:
            total = log_add(total, view.omega[node, position, skip_bit(allowed, position)])
            allowed ^= 1 << position
    return total


@inlined
def _sum_node(view, state, rest, node, u, begin, end, level, scratch):
    """The four sums of ``u`` in ``level``, for the places that ``node`` can have.

    Where ``node`` stands now, one of the first two sums is the current one.
    """
    allowed = scratch.allowed[u]
    bit = view.bit[node, u]
    alone = -np.inf
    if bit != 0:
        position = view.position[u, node]
        alone = view.omega[u, position, skip_bit(allowed, position)]
    if state.layer[u] <= state.layer[node]:
        absent = state.log_tau[u]
    else:
        absent = _log_tau_within(view, u, rest, begin, end, level, allowed)
    if state.layer[u] > state.layer[node] + 1:
        early = state.log_tau[u]
    elif bit != 0:
        # Level 0 has no earlier layer: nothing reads this sum there.
        early = _log_tau_within(view, u, rest, begin, end, level, allowed | bit)
    else:
        early = absent
    scratch.by_node[ABSENT, u] = absent
    scratch.by_node[EARLY, u] = early
    scratch.by_node[BESIDE, u] = log_add(absent, alone)
    scratch.by_node[ALONE, u] = alone


@inlined
def _draw_place(n_layers, power, scratch, rng):
    """Draw (target, is_new) as in ``relocate``, by the weights to the ``power``."""
    by_layer, own, log_weight = scratch.by_layer, scratch.own, scratch.log_weight
    by_layer[BESIDE, n_layers] = by_layer[ALONE, n_layers] = 0.0
    later = 0.0
    for target in range(n_layers, -1, -1):
        # ``later`` is the early sum of the layers after ``target`` for a new layer before it,
        # and one layer further down for joining it.
        log_weight[2 * target] = own[target] + by_layer[ALONE, target] + later
        if target > 0:
            log_weight[2 * target - 1] = own[target - 1] + by_layer[BESIDE, target] + later
            later += by_layer[EARLY, target] if target < n_layers else 0.0
    before = 0.0
    best = -np.inf
    for target in range(n_layers + 1):
        log_weight[2 * target] += before
        best = max(best, log_weight[2 * target])
        if target < n_layers:
            before += by_layer[ABSENT, target]
            log_weight[2 * target + 1] += before
            best = max(best, log_weight[2 * target + 1])
    total = 0.0
    for i in range(2 * n_layers + 1):
        # At power 0 the product would be NaN for places that are not admissible.
        gap = power * (log_weight[i] - best) if log_weight[i] > -np.inf else -np.inf
        log_weight[i] = np.exp(gap) if gap > -40.0 else 0.0
        total += log_weight[i]
    left = rng.random() * total
    chosen = 0
    for i in range(2 * n_layers + 1):
        if log_weight[i] > 0.0:
            chosen = i
            left -= log_weight[i]
            if left < 0.0:
                break
    return chosen // 2, chosen % 2 == 0
