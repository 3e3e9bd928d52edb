"""Put one node anywhere, by the posterior itself: a move without rejection.

Take node v out; m layers remain. For the nodes u of a remaining layer four sums can occur: v not
available to u (``absent``), available but not in the layer before u's (``early``), in the layer
before (``beside``), or alone in the layer before (``alone``). With these per layer, prefix and
suffix sums give the weight of joining each layer and of standing alone in each gap, 2m + 1
placements in all. Formulas: docs/math.md#placement-without-rejection.

Only nodes that can have v as a parent are looked at: those with v among their candidates, and
those that hold an outside set with v. For all others the first three sums are what they are now,
and the fourth is zero, as they cannot follow v alone.

The node keeps what it holds, or that is drawn anew together with its place
(:mod:`outpoint.mcmc.moves.outside`).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from outpoint.kernels import borrowed, inlined, jitable, kernel
from outpoint.mcmc.moves.node_move import relocate
from outpoint.mcmc.moves.step import Step, once
from outpoint.mcmc.partition import PartitionState, copy_layers, make_partition
from outpoint.mcmc.sums import INSIDE, highest_layer, log_meeting
from outpoint.tables.logspace import log_add
from outpoint.tables.view import TableView, inside_score, sum_containing

ABSENT, EARLY, BESIDE, ALONE = 0, 1, 2, 3


class Placement(NamedTuple):
    """Scratch space: nodes that can have v as a parent, with their sums; sums by layer.

    ``rest[u]`` is the layer of u when v is taken out, and beyond all layers for v itself.
    ``own`` are the log sums of v itself by layer, ``log_own`` its log weights at the power of the
    replica, ``own_mask[l]`` its candidates in layer l; ``moved`` is the partition with v put back.
    """

    moved: PartitionState
    rest: NDArray[np.int64]
    concerned: NDArray[np.int64]
    by_node: NDArray[np.float64]
    by_layer: NDArray[np.float64]
    n_alone: NDArray[np.int64]
    own: NDArray[np.float64]
    own_mask: NDArray[np.int64]
    log_own: NDArray[np.float64]
    log_weight: NDArray[np.float64]


@jitable
def make_placement(n):
    """Scratch space for ``n`` nodes."""
    return Placement(
        make_partition(n),
        np.zeros(n, dtype=np.int64),
        np.zeros(n, dtype=np.int64),
        np.zeros((4, n)),
        np.zeros((4, n + 2)),
        np.zeros(n + 2, dtype=np.int64),
        np.zeros(n + 2),
        np.zeros(n + 2, dtype=np.int64),
        np.zeros(n + 2),
        np.zeros(2 * n + 1),
    )


@inlined
def place_node(view, state, node, power, scratch, rng):
    """Draw a place for ``node`` from the partition posterior to the ``power``.

    Returns whether the partition has changed.
    """
    n_layers, gone, n_concerned = weigh_rest(view, state, node, scratch)
    own, log_own = scratch.own, scratch.log_own
    if state.held[node] == INSIDE:
        sum_own(view, node, n_layers, scratch)
    else:
        for level in range(n_layers + 1):
            own[level] = -np.inf
        place = state.held[node]
        own[highest_layer(view, place, scratch.rest, node) + 1] = view.outside.score[place]
    for level in range(n_layers + 1):
        log_own[level] = power * own[level] if own[level] > -np.inf else -np.inf
    target, is_new = draw_place(n_layers, power, scratch, rng)
    return move_node(state, node, gone, n_concerned, target, is_new, own[target], scratch)


@inlined
def weigh_rest(view, state, node, scratch):
    """Weigh all places for ``node`` by what they do to the other nodes, in ``log_weight``.

    Returns the number of layers without it, the layer that is gone then if there is one, and the
    number of nodes concerned.
    """
    home = state.layer[node]
    was_alone = state.start[home + 1] - state.start[home] == 1
    n_layers = state.n_layers[0] - was_alone
    # Layers after that of a node that stood alone move up when it is taken out.
    gone = home if was_alone else state.order.size
    for u in range(state.order.size):
        scratch.rest[u] = state.layer[u] - (state.layer[u] > gone)
    scratch.rest[node] = state.order.size
    _sum_present(state, node, gone, n_layers, scratch)
    n_concerned = _sum_concerned(view, state, node, scratch)
    for level in range(n_layers):
        if scratch.n_alone[level] < _size_without(state, node, gone, level):
            scratch.by_layer[ALONE, level] = -np.inf
    _add_up(n_layers, scratch)
    return n_layers, gone, n_concerned


@inlined
def move_node(state, node, gone, n_concerned, target, is_new, log_tau, scratch):
    """Put the node where it was drawn to; returns whether the partition has changed."""
    home = state.layer[node]
    state.log_tau[node] = log_tau
    if target == home and is_new == (gone == home):
        return False
    touched = target if is_new else target + 1
    for i in range(n_concerned):
        u = scratch.concerned[i]
        level = scratch.rest[u]
        kind = ABSENT if level < touched else EARLY
        if level == touched:
            kind = ALONE if is_new else BESIDE
        state.log_tau[u] = scratch.by_node[kind, u]
    relocate(state, node, target, is_new, scratch.moved)
    copy_layers(scratch.moved, state)
    return True


@inlined
def _size_without(state, node, gone, level):
    """Number of nodes in a remaining layer, ``node`` excepted."""
    old = level + (level >= gone)
    return state.start[old + 1] - state.start[old] - (state.layer[node] == old)


@inlined
def _sum_present(state, node, gone, n_layers, scratch):
    """Start all sums of the remaining layers with what their nodes weigh now."""
    for level in range(n_layers):
        old = level + (level >= gone)
        total = 0.0
        for place in range(state.start[old], state.start[old + 1]):
            u = state.order[place]
            if u != node:
                total += state.log_tau[u]
        scratch.by_layer[ABSENT, level] = total
        scratch.by_layer[EARLY, level] = total
        scratch.by_layer[BESIDE, level] = total
        scratch.by_layer[ALONE, level] = 0.0
        scratch.n_alone[level] = 0


@inlined
def _sum_concerned(view, state, node, scratch):
    """Correct the sums by the nodes that can have ``node`` as a parent; return their number."""
    n_concerned = 0
    for i in range(view.child_start[node], view.child_start[node + 1]):
        u = view.children[i]
        if state.held[u] == INSIDE:
            scratch.concerned[n_concerned] = u
            n_concerned += 1
            _sum_inside(view, state, node, u, scratch)
            _correct(state, u, scratch)
    if view.outside.score.size > 0:
        for u in range(state.held.size):
            if state.held[u] != INSIDE and _holds(view, state.held[u], node):
                scratch.concerned[n_concerned] = u
                n_concerned += 1
                _sum_held(view, state, node, u, scratch)
                _correct(state, u, scratch)
    return n_concerned


@inlined
def _correct(state, u, scratch):
    level = scratch.rest[u]
    present = state.log_tau[u]
    for kind in range(3):
        scratch.by_layer[kind, level] += scratch.by_node[kind, u] - present
    scratch.by_layer[ALONE, level] += scratch.by_node[ALONE, u]
    scratch.n_alone[level] += 1


@inlined
def _sum_inside(view, state, node, u, scratch):
    """The four sums over the inside sets of ``u``."""
    home, here = state.layer[node], state.layer[u]
    level = scratch.rest[u]
    own_position = np.int64(view.position[u, node])
    allowed = np.int64(0)
    previous = np.int64(0)
    for i in range(view.n_candidates[u]):
        above = scratch.rest[view.candidates[u, i]]
        allowed |= np.int64(above < level) << i
        previous |= np.int64(above == level - 1) << i
    alone = sum_containing(view, u, own_position, allowed)
    # Where ``node`` stands now, one of the first two sums is the present one.
    if here <= home:
        absent = state.log_tau[u]
    elif level == 0:
        absent = inside_score(view, u, 0)
    else:
        absent = log_meeting(view, u, allowed, previous)
    if here > home + 1:
        early = state.log_tau[u]
    else:
        # Level 0 has no earlier layer: nothing reads this sum there.
        early = log_meeting(view, u, allowed | (1 << own_position), previous)
    scratch.by_node[ABSENT, u] = absent
    scratch.by_node[EARLY, u] = early
    scratch.by_node[BESIDE, u] = log_add(absent, alone)
    scratch.by_node[ALONE, u] = alone


@inlined
def _holds(view, place, node):
    """Whether ``node`` is a member of an outside set."""
    for k in range(view.outside.members.shape[1]):
        u = view.outside.members[place, k]
        if u == node:
            return True
        if u < 0:
            return False
    return False


@inlined
def _sum_held(view, state, node, u, scratch):
    """The four weights of ``u``, which holds a set with ``node``."""
    score = view.outside.score[state.held[u]]
    level = scratch.rest[u]
    highest = highest_layer(view, state.held[u], scratch.rest, node)
    before = score if highest < level else -np.inf
    scratch.by_node[ABSENT, u] = -np.inf
    scratch.by_node[EARLY, u] = score if highest == level - 1 and level > 0 else -np.inf
    scratch.by_node[BESIDE, u] = before
    scratch.by_node[ALONE, u] = before


@inlined
def sum_own(view, node, n_layers, scratch):
    """The sum over the inside sets of ``node`` by the number of layers before it."""
    own, mask = scratch.own, scratch.own_mask
    for level in range(n_layers + 1):
        mask[level] = 0
    for i in range(view.n_candidates[node]):
        mask[scratch.rest[view.candidates[node, i]]] |= np.int64(1) << i
    own[0] = inside_score(view, node, 0)
    allowed = np.int64(0)
    for level in range(1, n_layers + 1):
        previous = mask[level - 1]
        allowed |= previous
        own[level] = log_meeting(view, node, allowed, previous)


@inlined
def _add_up(n_layers, scratch):
    """The weights of all places from the sums by layer, the node's own sum excepted.

    ``log_weight[2 t]`` is for a layer of its own before layer t, ``[2 t + 1]`` for joining t.
    """
    by_layer, log_weight = scratch.by_layer, scratch.log_weight
    by_layer[BESIDE, n_layers] = by_layer[ALONE, n_layers] = 0.0
    later = 0.0
    for target in range(n_layers, -1, -1):
        # ``later`` is the early sum of the layers after ``target`` for a new layer before it,
        # and one layer further down for joining it.
        log_weight[2 * target] = by_layer[ALONE, target] + later
        if target > 0:
            log_weight[2 * target - 1] = by_layer[BESIDE, target] + later
            later += by_layer[EARLY, target] if target < n_layers else 0.0
    before = 0.0
    for target in range(n_layers + 1):
        log_weight[2 * target] += before
        if target < n_layers:
            before += by_layer[ABSENT, target]
            log_weight[2 * target + 1] += before


@inlined
def draw_place(n_layers, power, scratch, rng):
    """Draw (target, is_new) as in ``relocate``: by the weights to the ``power``, times the own.

    What is left in ``log_weight`` are weights, no longer their logs.
    """
    log_weight, log_own = scratch.log_weight, scratch.log_own
    best = -np.inf
    for i in range(2 * n_layers + 1):
        # At power 0 the product would be NaN for places that are not admissible.
        if log_weight[i] > -np.inf:
            log_weight[i] = power * log_weight[i] + log_own[i // 2]
            best = max(best, log_weight[i])
    total = 0.0
    for i in range(2 * n_layers + 1):
        gap = log_weight[i] - best
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


@kernel
def take_placement(move, view, state, scratch, plan, power, is_cold, trace, rng):
    """One step: place a node, each with the same probability."""
    view, state, scratch = borrowed(view), borrowed(state), borrowed(scratch)
    node = int(rng.random() * state.order.size)
    return once(place_node(view, state, node, power, scratch, rng))


def _make_scratch(view: TableView) -> Placement:
    return make_placement(len(view.candidates))


PLACEMENT = Step("node_gibbs", take_placement, _make_scratch)
