"""Annealing over labelled partitions, each scored by the best DAG that has these layers.

A DAG has one partition but many orders, so here every DAG counts once (W = 1 in the bound of
appendix B). Every node's parents must lie in earlier layers and meet the layer before. The move
takes a node out and weighs all 2m + 1 ways to put it back, into one of the m layers left or alone
between two of them. For the nodes u of a layer only four scores can occur: the node is not
available to u (``ABSENT``), available in an earlier layer (``EARLY``), a member of the layer before
(``BESIDE``) or that whole layer (``ALONE``); prefix and suffix sums over the layers do the rest.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from outpoint.kernels import borrowed, inlined, kernel
from outpoint.search.annealing import (
    best_index,
    deviation,
    draw_index,
    finite,
    has_changed,
    is_better,
)
from outpoint.search.winners import best_containing, best_inside

ABSENT, EARLY, BESIDE, ALONE = 0, 1, 2, 3


class PartitionSearch(NamedTuple):
    """The layer of each node and the best partition met; scratch space.

    While a node is being placed, ``order`` lists the others layer by layer, layer l being
    ``order[start[l]:start[l + 1]]``, and ``rest`` holds their layers.
    """

    layer: NDArray[np.int64]
    best_layer: NDArray[np.int64]
    best_score: NDArray[np.float64]
    rest: NDArray[np.int64]
    order: NDArray[np.int64]
    start: NDArray[np.int64]
    allowed: NDArray[np.int32]
    by_layer: NDArray[np.float64]
    own: NDArray[np.float64]
    log_weight: NDArray[np.float64]


@kernel
def make_partition_search(n):
    """All nodes in one layer."""
    return PartitionSearch(
        np.zeros(n, dtype=np.int64),
        np.zeros(n, dtype=np.int64),
        np.full(1, -np.inf),
        np.zeros(n, dtype=np.int64),
        np.zeros(n, dtype=np.int64),
        np.zeros(n + 2, dtype=np.int64),
        np.zeros(n, dtype=np.int32),
        np.zeros((4, n + 2)),
        np.zeros(n + 1),
        np.zeros(2 * n + 1),
    )


@kernel
def anneal_partitions(view, state, power, steps_per_power, rng):
    """Place random nodes, ``steps_per_power`` times at each entry of ``power``.

    Returns, for each power, the fraction of steps that changed the score and its standard
    deviation.
    """
    view, state = borrowed(view), borrowed(state)
    n = state.layer.size
    changed = np.zeros(power.size)
    spread = np.zeros(power.size)
    score = -np.inf
    for level in range(power.size):
        first = score
        total = 0.0
        for step in range(steps_per_power):
            before = score
            node = int(rng.random() * n)
            n_places = weigh_placements(view, state, node)
            remember_placement(state, node, best_index(state.log_weight, n_places))
            chosen = draw_index(state.log_weight, n_places, power[level], rng)
            score = state.log_weight[chosen]
            write_placement(state, node, chosen, state.layer)
            if step == 0:
                first = score
            else:
                changed[level] += has_changed(before, score)
            total += score - first
            spread[level] += (score - first) ** 2
        changed[level] /= steps_per_power
        spread[level] = deviation(total, spread[level], steps_per_power)
    return changed, spread


@kernel
def climb_partitions(view, state):
    """From the best partition met, move each node to its best place until nothing improves."""
    view, state = borrowed(view), borrowed(state)
    n = state.layer.size
    for node in range(n):
        state.layer[node] = state.best_layer[node]
    improved = True
    while improved:
        improved = False
        for node in range(n):
            before = state.best_score[0]
            chosen = best_index(state.log_weight, weigh_placements(view, state, node))
            remember_placement(state, node, chosen)
            if state.best_score[0] > before:
                write_placement(state, node, chosen, state.layer)
                improved = True


@inlined
def take_out(state, node):
    """List the other nodes by layer, closing the gap that ``node`` may leave; return the layers."""
    n = state.layer.size
    alone = True
    for u in range(n):
        if u != node and state.layer[u] == state.layer[node]:
            alone = False
    n_layers = 0
    for u in range(n):
        if u != node:
            gap = alone and state.layer[u] > state.layer[node]
            state.rest[u] = state.layer[u] - 1 if gap else state.layer[u]
            n_layers = max(n_layers, state.rest[u] + 1)
    state.rest[node] = n
    for level in range(n_layers + 2):
        state.start[level] = 0
    for u in range(n):
        if u != node:
            state.start[state.rest[u] + 2] += 1
    for level in range(2, n_layers + 1):
        state.start[level] += state.start[level - 1]
    for u in range(n):  # counting sort: start[l + 1] runs from the beginning to the end of layer l
        if u != node:
            state.order[state.start[state.rest[u] + 1]] = u
            state.start[state.rest[u] + 1] += 1
    return n_layers


@inlined
def best_meeting(view, state, child, level, allowed, moved, is_moved_allowed):
    """Best set of ``child`` within the layers before ``level`` that meets the last of them.

    ``allowed`` is the mask of its candidates there. The node ``moved`` is out of the layers; it may
    be used too if ``is_moved_allowed``, but is not a member of the last layer.
    """
    best = best_inside(view, child, 0) if level == 0 else -np.inf
    if level > 0:
        for place in range(state.start[level - 1], state.start[level]):
            position = view.position[child, state.order[place]]
            if position >= 0:
                best = max(best, best_containing(view, child, position, allowed))
        best = _better_outside(view, state, child, level, moved, is_moved_allowed, False, best)
    return best


@inlined
def best_with(view, state, child, level, allowed, node):
    """Best set of ``child`` that contains ``node`` and otherwise lies before ``level``."""
    best = -np.inf
    position = view.position[child, node]
    if position >= 0:
        best = best_containing(view, child, position, allowed)
    return _better_outside(view, state, child, level, node, True, True, best)


@inlined
def _better_outside(view, state, child, level, moved, is_moved_allowed, needs_moved, best):
    """The score of the first outside set that can be used, or ``best`` if none is better."""
    for i in range(view.start[child], view.start[child + 1]):
        if view.score[i] <= best:
            break
        if _is_meeting(view, state, i, level, moved, is_moved_allowed, needs_moved):
            return view.score[i]
    return best


@inlined
def _is_meeting(view, state, i, level, moved, is_moved_allowed, needs_moved):
    """Whether an outside set lies before ``level`` and meets its last layer, or ``moved``."""
    met = False
    for k in range(view.members.shape[1]):
        u = view.members[i, k]
        if u < 0:
            break
        if u == moved:
            if not is_moved_allowed:
                return False
            met = met or needs_moved
        elif state.rest[u] >= level:
            return False
        elif not needs_moved and state.rest[u] == level - 1:
            met = True
    return met


@inlined
def weigh_placements(view, state, node):
    """Score all ways to put ``node`` back; return their number.

    ``log_weight[2 t]`` is for a layer of its own before layer t, ``[2 t + 1]`` for joining t.
    """
    n = state.layer.size
    n_layers = take_out(state, node)
    for u in range(n):
        state.allowed[u] = 0
    for level in range(n_layers + 1):
        own = best_meeting(view, state, node, level, state.allowed[node], -1, False)
        state.own[level] = finite(own)
        for kind in range(4):
            state.by_layer[kind, level] = 0.0
        if level == n_layers:
            break
        for place in range(state.start[level], state.start[level + 1]):
            u = state.order[place]
            allowed = state.allowed[u]
            absent = best_meeting(view, state, u, level, allowed, node, False)
            alone = best_with(view, state, u, level, allowed, node)
            early = absent
            if level > 0:  # layer 0 has no earlier layer: nothing reads this there
                wider = allowed | view.bit[node, u]
                early = best_meeting(view, state, u, level, wider, node, True)
            state.by_layer[ABSENT, level] += finite(absent)
            state.by_layer[EARLY, level] += finite(early)
            state.by_layer[BESIDE, level] += finite(max(absent, alone))
            state.by_layer[ALONE, level] += finite(alone)
        for place in range(state.start[level], state.start[level + 1]):
            for u in range(n):
                state.allowed[u] |= view.bit[state.order[place], u]
    _add_up(state, n_layers)
    return 2 * n_layers + 1


@inlined
def _add_up(state, n_layers):
    """The weights of all placements from the sums by layer."""
    by_layer, own, log_weight = state.by_layer, state.own, state.log_weight
    later = 0.0  # the early sums of the layers after the first one that the placement touches
    for target in range(n_layers, -1, -1):
        log_weight[2 * target] = own[target] + by_layer[ALONE, target] + later
        if target > 0:
            log_weight[2 * target - 1] = own[target - 1] + by_layer[BESIDE, target] + later
            later += by_layer[EARLY, target]
    before = 0.0
    for target in range(n_layers + 1):
        log_weight[2 * target] += before
        if target < n_layers:
            before += by_layer[ABSENT, target]
            log_weight[2 * target + 1] += before


@inlined
def write_placement(state, node, chosen, layer):
    """Write the layers with ``node`` put back to ``layer``."""
    target = chosen // 2
    is_new = chosen % 2 == 0
    for u in range(layer.size):
        if u != node:
            layer[u] = state.rest[u] + 1 if is_new and state.rest[u] >= target else state.rest[u]
    layer[node] = target


@inlined
def remember_placement(state, node, chosen):
    """Keep the chosen placement if it is the best so far."""
    if is_better(state.log_weight[chosen], state.best_score[0]):
        state.best_score[0] = state.log_weight[chosen]
        write_placement(state, node, chosen, state.best_layer)
