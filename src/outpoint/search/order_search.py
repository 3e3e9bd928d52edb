"""Annealing over orders of the nodes (paper appendix B), each order scored by its best DAG.

The best DAG of an order gives every node its best parent set among the nodes before it: one read
of a table of maxima per node. The move takes one node out and weighs all n places to put it back
at once: the nodes before the place score as if the node did not exist, those after it as if it
came first, so prefix and suffix sums give every place at the cost of scoring about two orders. A
place is drawn with probability proportional to Q^power, Q the score of the resulting order; that is
the limit of many Metropolis steps with the paper's target and rejects nothing.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from outpoint.kernels import borrowed, inlined, kernel
from outpoint.search.annealing import best_index, draw_index, is_better
from outpoint.search.view import better_outside, finite


class OrderState(NamedTuple):
    """An order (parents first), each node's place, candidates before it and best score there.

    ``best_order`` is the best order met, ``best_score`` (one entry) its score; the rest is scratch
    space of the move.
    """

    order: NDArray[np.int64]
    place: NDArray[np.int64]
    allowed: NDArray[np.int32]
    best: NDArray[np.float64]
    best_order: NDArray[np.int64]
    best_score: NDArray[np.float64]
    absent: NDArray[np.float64]
    present: NDArray[np.float64]
    log_weight: NDArray[np.float64]


@kernel
def make_order_state(n):
    """Room for an order of ``n`` nodes."""
    return OrderState(
        np.arange(n),
        np.arange(n),
        np.zeros(n, dtype=np.int32),
        np.zeros(n),
        np.arange(n),
        np.full(1, -np.inf),
        np.zeros(n),
        np.zeros(n),
        np.zeros(n),
    )


@kernel
def set_order(view, state, order):
    """Put the state at ``order`` and score it from scratch; return the score."""
    view, state = borrowed(view), borrowed(state)
    n = order.size
    for place in range(n):
        state.order[place] = order[place]
        state.place[order[place]] = place
    total = 0.0
    for node in range(n):
        mask = np.int32(0)
        for i in range(view.candidates.shape[1]):
            if state.place[view.candidates[node, i]] < state.place[node]:
                mask |= np.int32(1 << i)
        state.allowed[node] = mask
        score = finite(view.maxima[node, mask])
        state.best[node] = better_outside(
            view, node, state.place, state.place[node], -1, False, score
        )
        total += state.best[node]
    return total


@kernel
def anneal_orders(view, state, power, steps_per_power, rng):
    """Relocate random nodes, ``steps_per_power`` times at each entry of ``power``.

    Returns, for each power, the fraction of steps that changed the score and its standard
    deviation.
    """
    view, state = borrowed(view), borrowed(state)
    n = state.order.size
    changed = np.zeros(power.size)
    spread = np.zeros(power.size)
    for level in range(power.size):
        first = score = state.best.sum()
        total = 0.0
        for _ in range(steps_per_power):
            before = score
            node = int(rng.random() * n)
            weigh_places(view, state, node)
            remember_order(state, node, best_index(state.log_weight, n))
            place = draw_index(state.log_weight, n, power[level], rng)
            score = state.log_weight[place]
            put_node(view, state, node, place)
            changed[level] += is_better(score, before) or is_better(before, score)
            total += score - first
            spread[level] += (score - first) ** 2
        changed[level] /= steps_per_power
        variance = spread[level] / steps_per_power - (total / steps_per_power) ** 2
        spread[level] = np.sqrt(max(0.0, variance))
    return changed, spread


@kernel
def climb_orders(view, state):
    """From the best order met, relocate each node to its best place until nothing improves."""
    view, state = borrowed(view), borrowed(state)
    n = state.order.size
    set_order(view, state, state.best_order.copy())
    improved = True
    while improved:
        improved = False
        for node in range(n):
            before = state.best_score[0]
            weigh_places(view, state, node)
            place = best_index(state.log_weight, n)
            remember_order(state, node, place)
            if state.best_score[0] > before:
                put_node(view, state, node, place)
                improved = True


@inlined
def weigh_places(view, state, node):
    """Fill ``log_weight[p]``, the score of the order in which ``node`` stands at place p."""
    n = state.order.size
    home = state.place[node]
    own = np.int32(0)
    before = 0.0
    rank = 0
    for place in range(n):
        u = state.order[place]
        if u == node:
            continue
        bit = view.bit[node, u]
        score = finite(view.maxima[node, own])
        score = better_outside(view, node, state.place, place, -1, False, score)
        state.log_weight[rank] = score + before
        own |= view.bit[u, node]
        known = state.best[u]
        if place < home:
            other = finite(view.maxima[u, state.allowed[u] | bit])
            other = better_outside(view, u, state.place, place, node, True, other)
            state.absent[u], state.present[u] = known, other
        else:
            other = finite(view.maxima[u, state.allowed[u] & ~bit])
            other = better_outside(view, u, state.place, place, node, False, other)
            state.absent[u], state.present[u] = other, known
        before += state.absent[u]
        rank += 1
    score = finite(view.maxima[node, own])
    score = better_outside(view, node, state.place, n, -1, False, score)
    state.log_weight[n - 1] = score + before
    after = 0.0
    rank = n - 2
    for place in range(n - 1, -1, -1):
        u = state.order[place]
        if u != node:
            after += state.present[u]
            state.log_weight[rank] += after
            rank -= 1


@inlined
def remember_order(state, node, place):
    """Keep the order with ``node`` at ``place`` if it is the best so far."""
    if is_better(state.log_weight[place], state.best_score[0]):
        state.best_score[0] = state.log_weight[place]
        rank = 0
        for i in range(state.order.size):
            if rank == place:
                state.best_order[rank] = node
                rank += 1
            if state.order[i] != node:
                state.best_order[rank] = state.order[i]
                rank += 1
        if place == state.order.size - 1:
            state.best_order[place] = node


@inlined
def put_node(view, state, node, place):
    """Move ``node`` to ``place``, the sums for which ``weigh_places`` has just left behind."""
    home = state.place[node]
    step = 1 if place > home else -1
    mask = state.allowed[node]
    for i in range(home, place, step):
        u = state.order[i + step]
        state.order[i] = u
        state.place[u] = i
        bit = view.bit[node, u]
        if step > 0:
            state.allowed[u] &= ~bit
            state.best[u] = state.absent[u]
            mask |= view.bit[u, node]
        else:
            state.allowed[u] |= bit
            state.best[u] = state.present[u]
            mask &= ~view.bit[u, node]
    state.order[place] = node
    state.place[node] = place
    state.allowed[node] = mask
    if place != home:
        score = finite(view.maxima[node, mask])
        state.best[node] = better_outside(view, node, state.place, place, -1, False, score)
