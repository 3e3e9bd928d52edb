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
from outpoint.tables.logspace import LOG_EPSILON, log_add
from outpoint.tables.outside import outside_penalty
from outpoint.tables.view import TableView

HOT_TRIES = 8
"""Nodes of a hot replica that try to hold or to release a set in one step."""

LOOKS = 16
"""Sets between two looks at whether the rest of the list can still matter."""


class Redraw(NamedTuple):
    """Scratch space: level and weight of each outside set of a node, their sums by level.

    Weights are relative to the best set of the same level, whose log weight is ``log_best``: scores
    of one node may lie thousands of log units apart. ``log_rest`` are the weights of all other
    nodes, summed over the two places of each level.
    """

    level: NDArray[np.int64]
    weight: NDArray[np.float64]
    by_level: NDArray[np.float64]
    log_best: NDArray[np.float64]
    log_rest: NDArray[np.float64]


def make_redraw(n_nodes: int, longest: int) -> Redraw:
    """Scratch space for lists of at most ``longest`` outside sets."""
    return Redraw(
        np.zeros(longest, dtype=np.int64),
        np.zeros(longest),
        *(np.zeros(n_nodes + 2) for _ in range(3)),
    )


@inlined
def redraw_node(view, state, node, power, scratch, redraw, rng):
    """Draw place and parent sets of ``node`` together; returns whether anything has changed.

    Whether it holds an outside set is drawn first: a uniform number u says how much all of these
    may weigh, u / (1 - u) times the inside sets, until one of them wins. Most often the best ones
    of the list show that they do not.
    """
    n_layers, gone, n_concerned = weigh_rest(view, state, node, scratch)
    sum_own(view, node, n_layers, scratch)
    log_inside = _sum_places(n_layers, power, scratch, redraw)
    uniform = rng.random()
    log_most = log_inside + np.log(uniform / (1.0 - uniform)) if uniform > 0.0 else -np.inf
    n_sets = _weigh_outside(view, scratch.rest, node, power, n_layers, log_most, redraw)
    own, log_own = scratch.own, scratch.log_own
    for level in range(n_layers + 1):
        log_own[level] = -np.inf
        if n_sets == 0 and own[level] > -np.inf:
            log_own[level] = power * own[level]
        elif n_sets > 0 and redraw.by_level[level] > 0.0:
            log_own[level] = np.log(redraw.by_level[level]) + redraw.log_best[level]
    target, is_new = draw_place(n_layers, power, scratch, rng)
    chosen = _pick(view, node, n_sets, target, redraw, rng) if n_sets > 0 else INSIDE
    is_kept = chosen == state.held[node]
    state.held[node] = chosen
    log_tau = own[target] if chosen == INSIDE else view.outside.score[chosen]
    has_moved = move_node(state, node, gone, n_concerned, target, is_new, log_tau, scratch)
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
    lost, proposed = outside_penalty(view.penalty, node, power), INSIDE
    if state.held[node] == INSIDE:
        proposed = first + _draw_rank(last - first, rng.random())
        log_back = -_log_rank_share(last - first, proposed - first)
    else:
        lost, log_back = -lost, _log_rank_share(last - first, state.held[node] - first)
    own = log_tau(view, node, state.layer, state.layer[node], proposed)
    if own == -np.inf:
        return False
    if not accepts(power * (own - state.log_tau[node]) - lost, log_back, rng):
        return False
    state.held[node] = proposed
    state.log_tau[node] = own
    return True


@inlined
def _draw_rank(n_sets, uniform):
    """A place in a list of sets: every stretch from r to c r, r being counted from 1, alike."""
    return min(int((n_sets + 1.0) ** uniform), n_sets) - 1


@inlined
def _log_rank_share(n_sets, rank):
    """Log probability with which a place is drawn, about 1 / (rank + 1)."""
    return np.log(np.log1p(1.0 / (rank + 1.0)) / np.log1p(n_sets))


@inlined
def _sum_places(n_layers, power, scratch, redraw):
    """Sum the weights of the rest by level, in ``log_rest``, all to the power.

    Returns the log sum over all places of these times the inside sets.
    """
    log_weight, own = scratch.log_weight, scratch.own
    log_inside = -np.inf
    for level in range(n_layers + 1):
        log_rest = power * log_weight[2 * level] if log_weight[2 * level] > -np.inf else -np.inf
        if level < n_layers and log_weight[2 * level + 1] > -np.inf:
            log_rest = log_add(log_rest, power * log_weight[2 * level + 1])
        redraw.log_rest[level] = log_rest
        if own[level] > -np.inf:
            log_inside = log_add(log_inside, log_rest + power * own[level])
    return log_inside


@inlined
def _weigh_outside(view, rest, node, power, n_layers, log_most, redraw):
    """Whether outside sets weigh more than ``log_most``, all together and at all places.

    Returns 0 if they do not; otherwise level and weight of those that can matter are there, and
    their number is returned.
    """
    top_rest = -np.inf
    for level in range(n_layers + 1):
        top_rest = max(top_rest, redraw.log_rest[level])
    for level in range(n_layers + 2):
        redraw.by_level[level] = 0.0
    first, last = view.outside.start[node], view.outside.start[node + 1]
    shift = outside_penalty(view.penalty, node, power)
    log_found = -np.inf
    for place in range(first, last):
        log_own = power * view.outside.score[place] - shift
        if place - first < LOOKS or (place - first) % LOOKS == 0:
            log_left = log_own + np.log(last - place)
            if power == 1.0:
                log_left = view.outside.log_tail[place]
            log_left += top_rest
            if log_found <= log_most and log_add(log_found, log_left) <= log_most:
                return 0
            if log_found > log_most and log_left < log_found + LOG_EPSILON:
                return place - first
        level = highest_layer(view, place, rest, node) + 1
        if redraw.by_level[level] == 0.0:  # sets are ranked: the first of a level is its best
            redraw.log_best[level] = log_own
        weight = np.exp(log_own - redraw.log_best[level])
        redraw.level[place - first] = level
        redraw.weight[place - first] = weight
        redraw.by_level[level] += weight
        if redraw.log_rest[level] > -np.inf:
            log_found = log_add(log_found, log_own + redraw.log_rest[level])
    return last - first if log_found > log_most else 0


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
        for _ in range(HOT_TRIES):
            other = int(rng.random() * state.order.size)
            hold_or_release(view, state, other, power, rng)
        done = place_node(view, state, node, power, placement, rng)
    return once(done)


REDRAW = Step("outside", take_redraw, make_redrawing)
