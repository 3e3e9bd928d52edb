"""Draw a node's place anew, and with it whether the node holds an outside set, and which.

At each place a node has its inside sets together, with their sum, or one of the outside sets that
fit there: those whose last member stands right before. To the power b each of these weighs
exp(b s - penalty(b)), see :mod:`outpoint.tables.outside`.

Where b is low nearly all of a long list counts, and going through it takes long. Hot replicas do so
rarely, and would keep what they hold for hundreds of sweeps: how much they weigh would then drift.
They try a step that looks at one set only. At its place, a node that holds a set proposes to hold
none, and one that holds none proposes any set of its list of N, all with the same probability 1/N.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from outpoint.kernels import borrowed, inlined, kernel
from outpoint.mcmc.metropolis import accepts
from outpoint.mcmc.moves.node_gibbs import (
    Placement,
    draw_place,
    make_placement,
    move_node,
    place_node,
    sum_own,
    weigh_rest,
)
from outpoint.mcmc.moves.step import Step, once
from outpoint.mcmc.sums import INSIDE, highest_layer, log_tau
from outpoint.tables.logspace import LOG_EPSILON
from outpoint.tables.outside import outside_penalty
from outpoint.tables.view import TableView

LOOKS = 16
"""Sets between two looks at whether the rest of the list can still matter."""


class Redraw(NamedTuple):
    """Scratch space: level and weight of each outside set of a node, their sums by level.

    Weights are relative to the best set of the same level, whose log weight is ``log_best``: scores
    of one node may lie thousands of log units apart.
    """

    level: NDArray[np.int64]
    weight: NDArray[np.float64]
    by_level: NDArray[np.float64]
    log_best: NDArray[np.float64]


def make_redraw(n_nodes: int, longest: int) -> Redraw:
    """Scratch space for lists of at most ``longest`` outside sets."""
    return Redraw(
        np.zeros(longest, dtype=np.int64),
        np.zeros(longest),
        np.zeros(n_nodes + 2),
        np.zeros(n_nodes + 2),
    )


@inlined
def redraw_node(view, state, node, power, scratch, redraw, rng):
    """Draw place and parent sets of ``node`` together; returns whether anything has changed."""
    n_layers, gone, n_concerned = weigh_rest(view, state, node, scratch)
    sum_own(view, node, n_layers, scratch)
    log_rest, log_total = _bound_places(n_layers, power, scratch)
    n_sets = _weigh_outside(view, scratch.rest, node, power, n_layers, log_total - log_rest, redraw)
    for level in range(n_layers + 1):
        inside = scratch.own[level]
        log_inside = power * inside if inside > -np.inf else -np.inf
        scratch.log_own[level] = _log_plus(
            log_inside, redraw.by_level[level], redraw.log_best[level]
        )
    target, is_new = draw_place(n_layers, power, scratch, rng)
    inside = scratch.own[target]
    chosen = INSIDE
    share = np.exp(power * inside - scratch.log_own[target]) if inside > -np.inf else 0.0
    if rng.random() >= share:
        chosen = _pick(view, node, n_sets, target, redraw, rng)
    is_kept = chosen == state.held[node]
    state.held[node] = chosen
    own = inside if chosen == INSIDE else view.outside.score[chosen]
    has_moved = move_node(state, node, gone, n_concerned, target, is_new, own, scratch)
    return has_moved or not is_kept


@kernel
def hold_or_release(view, state, node, power, rng):
    """Let ``node`` take a set of its list where it stands, or let go of the one it holds.

    Returns whether anything has changed.
    """
    view, state = borrowed(view), borrowed(state)
    first, last = view.outside.start[node], view.outside.start[node + 1]
    if first == last:
        return False
    lost, log_back = outside_penalty(view.penalty, node, power), np.log(last - first)
    proposed = INSIDE
    if state.held[node] == INSIDE:
        proposed = first + int(rng.random() * (last - first))
    else:
        lost, log_back = -lost, -log_back
    own = log_tau(view, node, state.layer, state.layer[node], proposed)
    if own == -np.inf:
        return False
    if not accepts(power * (own - state.log_tau[node]) - lost, log_back, rng):
        return False
    state.held[node] = proposed
    state.log_tau[node] = own
    return True


@inlined
def _bound_places(n_layers, power, scratch):
    """Bounds on log sums over all places, to the power.

    From above that of the weights of the rest, from below that of these times the inside sums.
    """
    log_weight, own = scratch.log_weight, scratch.own
    top_rest = top_total = -np.inf
    for i in range(2 * n_layers + 1):
        if log_weight[i] > -np.inf:
            top_rest = max(top_rest, power * log_weight[i])
            if own[i // 2] > -np.inf:
                top_total = max(top_total, power * (log_weight[i] + own[i // 2]))
    # A sum of k terms lies between its largest term and k times that.
    return top_rest + np.log(2.0 * n_layers + 1.0), top_total


@inlined
def _weigh_outside(view, rest, node, power, n_layers, log_margin, redraw):
    """Level and weight of the outside sets, as far as they can matter; returns their number.

    ``log_margin`` is a lower bound of how much the inside sets weigh, in terms of an own weight of
    1 at all places.
    """
    for level in range(n_layers + 2):
        redraw.by_level[level] = 0.0
    first, last = view.outside.start[node], view.outside.start[node + 1]
    shift = outside_penalty(view.penalty, node, power)
    for place in range(first, last):
        log_own = power * view.outside.score[place] - shift
        is_look = (place - first) % LOOKS == 0
        if is_look and log_own + np.log(last - place) < log_margin + LOG_EPSILON:
            return place - first
        level = highest_layer(view, place, rest, node) + 1
        if redraw.by_level[level] == 0.0:  # sets are ranked: the first of a level is its best
            redraw.log_best[level] = log_own
        weight = np.exp(log_own - redraw.log_best[level])
        redraw.level[place - first] = level
        redraw.weight[place - first] = weight
        redraw.by_level[level] += weight
    return last - first


@inlined
def _log_plus(log_inside, outside, log_top):
    """log(exp(log_inside) + outside * exp(log_top))."""
    if outside == 0.0:
        return log_inside
    log_outside = np.log(outside) + log_top
    if log_inside == -np.inf:
        return log_outside
    top = max(log_inside, log_outside)
    return top + np.log(np.exp(log_inside - top) + np.exp(log_outside - top))


@inlined
def _pick(view, node, n_sets, target, redraw, rng):
    """One of the sets that fit at the level ``target``, by their weights."""
    left = rng.random() * redraw.by_level[target]
    chosen = INSIDE
    for i in range(n_sets):
        if redraw.level[i] == target:
            chosen = view.outside.start[node] + i
            left -= redraw.weight[i]
            if left < 0.0:
                break
    return chosen


class Redrawing(NamedTuple):
    """Scratch space of the step."""

    placement: Placement
    redraw: Redraw


def make_redrawing(view: TableView) -> Redrawing:
    """Scratch space for this table."""
    n = len(view.candidates)
    return Redrawing(make_placement(n), make_redraw(n, int(np.diff(view.outside.start).max())))


@kernel
def take_redraw(move, view, state, scratch, plan, power, is_cold, trace, rng):
    """One step: redraw a node, each with the same probability.

    Replicas other than 0 do so with the probability ``hot_redraws``; otherwise the node may take or
    release a single set, and is placed.
    """
    view, state, scratch = borrowed(view), borrowed(state), borrowed(scratch)
    node = int(rng.random() * state.order.size)
    placement = scratch.placement
    if is_cold or rng.random() < plan.hot_redraws:
        done = redraw_node(view, state, node, power, placement, scratch.redraw, rng)
    else:
        hold_or_release(view, state, node, power, rng)
        done = place_node(view, state, node, power, placement, rng)
    return once(done)


REDRAW = Step("outside", take_redraw, make_redrawing)
