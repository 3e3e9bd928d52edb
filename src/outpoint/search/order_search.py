"""Annealing over orders of the nodes (paper appendix B), each order scored by its best DAG.

The best DAG of an order gives every node its best parent set among the nodes before it. The move
takes one node out and weighs all n places to put it back at once. Walking through the others, the
score changes only where the node passes one that it can be a parent of, which loses it, or one that
can be its own parent, which it gains; most pairs of nodes are neither (see
:mod:`outpoint.search.winners`). So there are a few stretches of places that score the same. A place
is drawn with probability proportional to Q^power, Q the score of the resulting order; that is the
limit of many Metropolis steps with the paper's target and rejects nothing.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from outpoint.kernels import borrowed, inlined, kernel
from outpoint.search.annealing import IMPOSSIBLE, best_index, is_better
from outpoint.search.winners import (
    best_with,
    best_without,
    first_fitting,
    slot_bit,
)


class OrderState(NamedTuple):
    """An order (parents first) and each node's place.

    ``allowed`` are the slots of the nodes before each node, its last row being scratch space;
    ``best`` is the place of each node's best winning set there. ``total`` is the sum of these
    scores and the number of nodes without any admissible set. ``best_order`` is the best order met,
    ``best_score`` (one entry) its score.

    The rest is what the move has weighed: ``moved`` is the best set of each node after the moved
    node has passed it, ``own`` that of the moved node at each place. The places from
    ``first[k]`` to ``first[k + 1]`` score ``log_weight[k]``, the sum ``value[k]`` with
    ``missing[k]`` nodes left out.
    """

    order: NDArray[np.int64]
    place: NDArray[np.int64]
    allowed: NDArray[np.int64]
    best: NDArray[np.int64]
    total: NDArray[np.float64]
    best_order: NDArray[np.int64]
    best_score: NDArray[np.float64]
    moved: NDArray[np.int64]
    own: NDArray[np.int64]
    first: NDArray[np.int64]
    value: NDArray[np.float64]
    missing: NDArray[np.float64]
    log_weight: NDArray[np.float64]


def make_order_state(winners):
    """Room for an order."""
    n = len(winners.alone)
    return OrderState(
        np.arange(n),
        np.arange(n),
        np.zeros((n + 1, winners.mask.shape[1]), dtype=np.int64),
        np.zeros(n, dtype=np.int64),
        np.zeros(2),
        np.arange(n),
        np.full(1, -np.inf),
        np.zeros(n, dtype=np.int64),
        np.zeros(n, dtype=np.int64),
        np.zeros(n + 1, dtype=np.int64),
        np.zeros(n),
        np.zeros(n),
        np.zeros(n),
    )


@kernel
def set_order(winners, state, order):
    """Put the state at ``order`` and score it from scratch; return the score."""
    winners, state = borrowed(winners), borrowed(state)
    n = order.size
    for place in range(n):
        state.order[place] = order[place]
        state.place[order[place]] = place
    for node in range(n):
        state.allowed[node, :] = 0
        for pair in range(winners.first_pair[node], winners.first_pair[node + 1]):
            if state.place[winners.parent[pair]] < state.place[node]:
                slot = pair - winners.first_pair[node]
                state.allowed[node, slot >> 6] |= slot_bit(slot)
        state.best[node] = first_fitting(winners, node, state.allowed, node)
    return add_up(winners, state)


@inlined
def add_up(winners, state):
    """Add up ``total`` anew, so that rounding does not pile up; return the score."""
    state.total[:] = 0.0
    for node in range(state.order.size):
        if state.best[node] == winners.start[node + 1]:
            state.total[1] += 1.0
        else:
            state.total[0] += winners.score[state.best[node]]
    return state.total[0] + IMPOSSIBLE * state.total[1]


@kernel
def anneal_orders(winners, state, power, steps_per_power, rng):
    """Relocate random nodes, ``steps_per_power`` times at each entry of ``power``.

    Returns, for each power, the fraction of steps that changed the score and its standard
    deviation.
    """
    winners, state = borrowed(winners), borrowed(state)
    n = state.order.size
    changed = np.zeros(power.size)
    spread = np.zeros(power.size)
    for level in range(power.size):
        first = score = add_up(winners, state)
        total = 0.0
        for _ in range(steps_per_power):
            before = score
            node = int(rng.random() * n)
            n_stretches = weigh_places(winners, state, node)
            best = best_index(state.log_weight, n_stretches)
            remember_order(state, node, best)
            chosen, place = draw_place(state, n_stretches, best, power[level], rng)
            score = state.log_weight[chosen]
            put_node(winners, state, node, chosen, place)
            changed[level] += is_better(score, before) or is_better(before, score)
            total += score - first
            spread[level] += (score - first) ** 2
        changed[level] /= steps_per_power
        variance = spread[level] / steps_per_power - (total / steps_per_power) ** 2
        spread[level] = np.sqrt(max(0.0, variance))
    return changed, spread


@kernel
def climb_orders(winners, state):
    """From the best order met, relocate each node to its best place until nothing improves."""
    winners, state = borrowed(winners), borrowed(state)
    n = state.order.size
    set_order(winners, state, state.best_order.copy())
    improved = True
    while improved:
        improved = False
        for node in range(n):
            before = state.best_score[0]
            best = best_index(state.log_weight, weigh_places(winners, state, node))
            remember_order(state, node, best)
            if state.best_score[0] > before:
                put_node(winners, state, node, best, state.first[best])
                improved = True


@inlined
def weigh_places(winners, state, node):
    """Score all places for ``node``; return the number of stretches with the same score."""
    n = state.order.size
    home = state.place[node]
    state.allowed[n, :] = 0
    own = winners.alone[node]
    value, missing = _score(winners, node, own)
    home_value, home_missing = value, missing
    n_stretches = 0
    is_changed = True
    for place in range(n):
        u = state.order[place]
        if u == node:
            home_value, home_missing = value, missing
            continue
        rank = place if place < home else place - 1
        state.own[rank] = own
        if is_changed:
            n_stretches = _begin_stretch(state, n_stretches, rank, value, missing)
            is_changed = False
        slot = winners.slot[node, u]
        if slot >= 0:
            state.allowed[n, slot >> 6] |= slot_bit(slot)
            better = best_with(winners, node, slot, state.allowed, n, own)
            if better != own:
                old, new = _score(winners, node, own), _score(winners, node, better)
                value, missing = value + new[0] - old[0], missing + new[1] - old[1]
                own = better
                is_changed = True
        slot = winners.slot[u, node]
        if slot >= 0:
            known = state.best[u]
            other = _pass_by(winners, state, u, slot, place > home)
            state.moved[u] = other
            if other != known:
                before, after = (known, other) if place > home else (other, known)
                old, new = _score(winners, u, before), _score(winners, u, after)
                value, missing = value + new[0] - old[0], missing + new[1] - old[1]
                is_changed = True
    state.own[n - 1] = own
    if is_changed:
        n_stretches = _begin_stretch(state, n_stretches, n - 1, value, missing)
    state.first[n_stretches] = n
    for k in range(n_stretches):
        state.value[k] += state.total[0] - home_value
        state.missing[k] += state.total[1] - home_missing
        state.log_weight[k] = state.value[k] + IMPOSSIBLE * state.missing[k]
    return n_stretches


@inlined
def _score(winners, node, i):
    """What a node adds to the total: its score, and whether it has no admissible set."""
    if i == winners.start[node + 1]:
        return 0.0, 1.0
    return winners.score[i], 0.0


@inlined
def _begin_stretch(state, n_stretches, rank, value, missing):
    state.first[n_stretches] = rank
    state.value[n_stretches] = value
    state.missing[n_stretches] = missing
    return n_stretches + 1


@inlined
def _pass_by(winners, state, u, slot, is_lost):
    """The best set of ``u`` when the node in this slot leaves, or joins, the nodes before it."""
    if is_lost:
        return best_without(winners, u, slot, state.allowed, u, state.best[u])
    state.allowed[u, slot >> 6] |= slot_bit(slot)
    found = best_with(winners, u, slot, state.allowed, u, state.best[u])
    state.allowed[u, slot >> 6] &= ~slot_bit(slot)
    return found


@inlined
def draw_place(state, n_stretches, best, power, rng):
    """A stretch and a place of it: places have probabilities proportional to exp(power * score).

    ``best`` is the best stretch.
    """
    top = state.log_weight[best]
    total = 0.0
    for k in range(n_stretches):
        gap = power * (state.log_weight[k] - top)
        if gap > -40.0:
            total += (state.first[k + 1] - state.first[k]) * np.exp(gap)
    left = rng.random() * total
    chosen, place = best, state.first[best]
    for k in range(n_stretches):
        gap = power * (state.log_weight[k] - top)
        if gap > -40.0:
            weight = np.exp(gap)
            size = state.first[k + 1] - state.first[k]
            chosen, place = k, state.first[k] + min(size - 1, int(left / weight))
            left -= size * weight
            if left < 0.0:
                break
    return chosen, place


@inlined
def remember_order(state, node, stretch):
    """Keep the order with ``node`` at the begin of this stretch if it is the best so far."""
    if is_better(state.log_weight[stretch], state.best_score[0]):
        state.best_score[0] = state.log_weight[stretch]
        n = state.order.size
        home, place = state.place[node], state.first[stretch]
        for rank in range(n):
            if rank == place:
                state.best_order[rank] = node
            else:
                i = rank if rank < place else rank - 1  # among the others
                state.best_order[rank] = state.order[i if i < home else i + 1]


@inlined
def put_node(winners, state, node, stretch, place):
    """Move ``node`` to a place of a stretch that ``weigh_places`` has just weighed."""
    home = state.place[node]
    step = 1 if place > home else -1
    for i in range(home, place, step):
        u = state.order[i + step]
        state.order[i] = u
        state.place[u] = i
        slot = winners.slot[u, node]
        if slot >= 0:
            state.allowed[u, slot >> 6] ^= slot_bit(slot)
            state.best[u] = state.moved[u]
        slot = winners.slot[node, u]
        if slot >= 0:
            state.allowed[node, slot >> 6] ^= slot_bit(slot)
    state.order[place] = node
    state.place[node] = place
    state.best[node] = state.own[place]
    state.total[0] = state.value[stretch]
    state.total[1] = state.missing[stretch]
