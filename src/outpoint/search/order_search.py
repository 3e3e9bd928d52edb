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
from outpoint.search.annealing import IMPOSSIBLE, best_index, deviation, has_changed, is_better
from outpoint.search.winners import (
    Winners,
    best_inside,
    best_score,
    search_on,
    search_with,
    slot_bit,
)


class OrderSearch(NamedTuple):
    """An order (parents first) and each node's place.

    ``inside`` are the candidates and ``allowed`` the slots before each node, ``reached`` is where
    the search through its outside sets has ended (see ``winners.search_on``), and ``best`` the
    score of its best set; row n is scratch space for a node that moves. ``total`` is the sum of the
    best scores and the number of nodes without any admissible set. ``best_order`` is the best order
    met, ``best_score`` (one entry) its score.

    The rest is what the move has weighed: ``passed`` and ``passed_reached`` for each node after the
    moved one has passed it, ``own`` and ``own_reached`` for the moved node at each place. The
    places from ``first[k]`` to ``first[k + 1]`` score ``log_weight[k]``, the sum ``value[k]`` with
    ``missing[k]`` nodes left out.
    """

    order: NDArray[np.int64]
    place: NDArray[np.int64]
    inside: NDArray[np.int32]
    allowed: NDArray[np.int64]
    reached: NDArray[np.int64]
    best: NDArray[np.float64]
    total: NDArray[np.float64]
    best_order: NDArray[np.int64]
    best_score: NDArray[np.float64]
    passed: NDArray[np.float64]
    passed_reached: NDArray[np.int64]
    own: NDArray[np.float64]
    own_reached: NDArray[np.int64]
    first: NDArray[np.int64]
    value: NDArray[np.float64]
    missing: NDArray[np.float64]
    log_weight: NDArray[np.float64]


def make_order_search(winners: Winners) -> OrderSearch:
    """Room for an order."""
    n = len(winners.slot)

    def numbers() -> NDArray[np.int64]:
        return np.zeros(n + 1, dtype=np.int64)

    return OrderSearch(
        order=np.arange(n),
        place=np.arange(n),
        inside=np.zeros(n + 1, dtype=np.int32),
        allowed=np.zeros((n + 1, winners.mask.shape[1]), dtype=np.int64),
        reached=numbers(),
        best=np.zeros(n + 1),
        total=np.zeros(2),
        best_order=np.arange(n),
        best_score=np.full(1, -np.inf),
        passed=np.zeros(n),
        passed_reached=numbers(),
        own=np.zeros(n),
        own_reached=numbers(),
        first=numbers(),
        value=np.zeros(n),
        missing=np.zeros(n),
        log_weight=np.zeros(n),
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
        state.inside[node] = 0
        state.allowed[node, :] = 0
        for place in range(state.place[node]):
            u = state.order[place]
            state.inside[node] |= winners.bit[node, u]
            slot = winners.slot[node, u]
            if slot >= 0:
                state.allowed[node, slot >> 6] |= slot_bit(slot)
        inside = best_inside(winners, node, state.inside[node])
        first = winners.start[node]
        state.reached[node] = search_on(winners, node, inside, state.allowed, node, first)
        state.best[node] = best_score(winners, node, inside, state.reached[node])
    return add_up(state)


@inlined
def add_up(state):
    """Add up ``total`` anew, so that rounding does not pile up; return the score."""
    state.total[:] = 0.0
    for node in range(state.order.size):
        if state.best[node] == -np.inf:
            state.total[1] += 1.0
        else:
            state.total[0] += state.best[node]
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
        first = score = add_up(state)
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
            changed[level] += has_changed(before, score)
            total += score - first
            spread[level] += (score - first) ** 2
        changed[level] /= steps_per_power
        spread[level] = deviation(total, spread[level], steps_per_power)
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
    state.inside[n] = 0
    state.allowed[n, :] = 0
    reached = winners.start[node + 1]  # all outside sets have members: none fits at first
    own = best_inside(winners, node, 0)
    value, missing = _change(0.0, own)
    home_value, home_missing = value, missing
    n_stretches = 0
    is_changed = True
    for place in range(n):
        u = state.order[place]
        if u == node:
            home_value, home_missing = value, missing
            continue
        rank = place if place < home else place - 1
        state.own[rank], state.own_reached[rank] = own, reached
        if is_changed:
            n_stretches = _begin_stretch(state, n_stretches, rank, value, missing)
            is_changed = False
        slot = winners.slot[node, u]
        if slot >= 0:
            reached, better = _join(winners, state, node, n, u, slot, reached)
            if better != own:
                more, more_missing = _change(own, better)
                value, missing, own, is_changed = value + more, missing + more_missing, better, True
        slot = winners.slot[u, node]
        if slot >= 0:
            known = state.best[u]
            other = _pass_by(winners, state, u, node, slot, place > home)
            if other != known:
                before, after = (known, other) if place > home else (other, known)
                more, more_missing = _change(before, after)
                value, missing, is_changed = value + more, missing + more_missing, True
    state.own[n - 1], state.own_reached[n - 1] = own, reached
    if is_changed:
        n_stretches = _begin_stretch(state, n_stretches, n - 1, value, missing)
    state.first[n_stretches] = n
    for k in range(n_stretches):
        state.value[k] += state.total[0] - home_value
        state.missing[k] += state.total[1] - home_missing
        state.log_weight[k] = state.value[k] + IMPOSSIBLE * state.missing[k]
    return n_stretches


@inlined
def _change(old, new):
    """What a node's new score adds to the sum, and to the number of nodes without any."""
    before, was_missing = (old, 0.0) if old > -np.inf else (0.0, 1.0)
    after, is_missing = (new, 0.0) if new > -np.inf else (0.0, 1.0)
    return after - before, is_missing - was_missing


@inlined
def _begin_stretch(state, n_stretches, rank, value, missing):
    state.first[n_stretches] = rank
    state.value[n_stretches] = value
    state.missing[n_stretches] = missing
    return n_stretches + 1


@inlined
def _join(winners, state, child, row, u, slot, reached):
    """Let ``u`` join the nodes before ``child``: where the search ends, and the score."""
    state.inside[row] |= winners.bit[child, u]
    state.allowed[row, slot >> 6] |= slot_bit(slot)
    inside = best_inside(winners, child, state.inside[row])
    reached = search_with(winners, child, slot, state.allowed, row, reached)
    return reached, best_score(winners, child, inside, reached)


@inlined
def _leave(winners, state, child, row, u, slot, reached):
    """Let ``u`` leave the nodes before ``child``: where the search ends, and the score."""
    state.inside[row] &= ~winners.bit[child, u]
    state.allowed[row, slot >> 6] &= ~slot_bit(slot)
    inside = best_inside(winners, child, state.inside[row])
    reached = search_on(winners, child, inside, state.allowed, row, reached)
    return reached, best_score(winners, child, inside, reached)


@inlined
def _pass_by(winners, state, u, node, slot, is_lost):
    """The best score of ``u`` when ``node`` leaves, or joins, the nodes before it."""
    if is_lost:
        reached, best = _leave(winners, state, u, u, node, slot, state.reached[u])
    else:
        reached, best = _join(winners, state, u, u, node, slot, state.reached[u])
    state.inside[u] ^= winners.bit[u, node]
    state.allowed[u, slot >> 6] ^= slot_bit(slot)
    state.passed[u], state.passed_reached[u] = best, reached
    return best


@inlined
def draw_place(state, n_stretches, best, power, rng):
    """Draw a stretch and a place in it, with probabilities proportional to exp(power * score).

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
    """Keep the order with ``node`` at the beginning of this stretch if it is the best so far."""
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
        state.inside[u] ^= winners.bit[u, node]
        if slot >= 0:
            state.allowed[u, slot >> 6] ^= slot_bit(slot)
            state.best[u], state.reached[u] = state.passed[u], state.passed_reached[u]
        slot = winners.slot[node, u]
        state.inside[node] ^= winners.bit[node, u]
        if slot >= 0:
            state.allowed[node, slot >> 6] ^= slot_bit(slot)
    state.order[place] = node
    state.place[node] = place
    state.best[node], state.reached[node] = state.own[place], state.own_reached[place]
    state.total[0] = state.value[stretch]
    state.total[1] = state.missing[stretch]
