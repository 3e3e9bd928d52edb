"""Independent DAGs from the exact posterior: layer by layer, then parents node by node.

A parent set is drawn by its score, from sums over subsets alone. Members are decided one at a time:
the sets within P that contain A and not j are those within P - j that contain A, whose sum is an
alternating one of 2^|A| sums over subsets. Rounding errors are relative to the sum over all sets,
so that they can only show where sets are drawn that hardly ever are; such sets are listed one by
one instead, and sets that are not admissible are never drawn.

With the nodes P placed, T the last layer and U the rest, the next layer is R with weight
``a[U - R] * prod_{i in R} tau_i(P, T)``, where ``a`` is the inclusion-exclusion table of U given P;
the first layer has no parents. Formulas: docs/math.md#exact-draws. There is no chain: draws are
independent. All go forward together, and those that have the same P and T share a table of weights.

The sums tau over the parent sets that meet T are differences of the sums w, exact to the rounding
of w: a layer that is so improbable that this shows is not drawn in practice.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from outpoint.arrays import Booleans, Floats
from outpoint.exact.sums import BIAS, Masks, Scaled, biased_power, list_supersets
from outpoint.kernels import inlined, kernel, run_chunked
from outpoint.tables.logspace import count_bits, skip_bit

RARE = 1e-9
"""Share of the weight below which sets are listed: differences then lose their last digits."""


@kernel
def sample_parents(scores, factor, shift, allowed, required, rng):
    """Draw a set within ``allowed`` that meets ``required``, both masks, by its score."""
    whole = factor[allowed]
    if whole - _relative_sum(factor, shift, allowed & ~required, shift[allowed]) < RARE * whole:
        return _sample_listed(scores, allowed, required, rng)
    chosen = _sample_members(factor, shift, allowed, required, rng)
    while scores[chosen] == -np.inf:
        chosen = _sample_members(factor, shift, allowed, required, rng)
    return chosen


@inlined
def _sample_members(factor, shift, allowed, required, rng):
    """Decide on the members of ``required`` until one is in, then on all others."""
    unit = shift[allowed]
    chosen = 0
    left = required
    while chosen == 0:
        member = left & -left
        whole = _relative_sum(factor, shift, allowed, unit)
        meeting = whole - _relative_sum(factor, shift, allowed & ~left, unit)
        weight = whole - _relative_sum(factor, shift, allowed ^ member, unit)
        left ^= member
        if left == 0 or rng.random() * meeting < weight:
            chosen = member
        else:
            allowed ^= member
    undecided = allowed ^ chosen
    while undecided:
        member = undecided & -undecided
        undecided ^= member
        without = _containing_sum(factor, shift, allowed ^ member, chosen, unit)
        if rng.random() * weight < without:
            allowed ^= member
            weight = without
        else:
            chosen |= member
            weight -= without
    return chosen


@inlined
def _relative_sum(factor, shift, mask, unit):
    """The sum over the subsets of ``mask`` in units of ``2**unit``."""
    return factor[mask] * biased_power(shift[mask] - unit + BIAS)


@inlined
def _containing_sum(factor, shift, mask, members, unit):
    """The sum over the subsets of ``mask`` that contain ``members``."""
    total = 0.0
    taken = members
    while True:
        term = _relative_sum(factor, shift, mask ^ taken, unit)
        total += -term if count_bits(taken) & 1 else term
        if taken == 0:
            return total
        taken = (taken - 1) & members


@inlined
def _sample_listed(scores, allowed, required, rng):
    """Draw a set within ``allowed`` that meets ``required`` from a list of all of them."""
    top = -np.inf
    subset = allowed
    while subset:
        if subset & required:
            top = max(top, scores[subset])
        subset = (subset - 1) & allowed
    total = 0.0
    chosen = 0
    subset = allowed
    while subset:
        if subset & required and scores[subset] > -np.inf:
            weight = np.exp(scores[subset] - top)
            total += weight
            if rng.random() * total < weight:
                chosen = subset
        subset = (subset - 1) & allowed
    return chosen


DRAWS_PER_STREAM = 50
"""Draws whose parents come from one random stream; fixed, whatever the number of threads."""


def sample_dags(
    scores: Floats,
    weights: Scaled,
    after: Scaled,
    n_draws: int,
    rng: np.random.Generator,
    done: Callable[[int], None] | None = None,
) -> Booleans:
    """``n_draws`` independent adjacency matrices from a posterior that has been summed up.

    The first of many draws are those that a call for fewer gives.
    """
    n = len(scores)
    layers = _sample_layers(weights, after, n_draws, rng)
    dags = np.zeros((n_draws, n, n), dtype=np.bool_)
    streams = rng.spawn(-(-n_draws // DRAWS_PER_STREAM))

    def work(start: int, stop: int) -> None:
        for i in range(start, stop):
            block = slice(i * DRAWS_PER_STREAM, (i + 1) * DRAWS_PER_STREAM)
            _fill_parents(scores, *weights, layers[block], streams[i], dags[block])

    run_chunked(
        work,
        len(streams),
        done=None if done is None else lambda blocks: done(blocks * DRAWS_PER_STREAM),
    )
    return dags


def _sample_layers(
    weights: Scaled, after: Scaled, n_draws: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """The layer of every node in every draw."""
    n = len(weights.mantissa)
    placed, last = np.zeros(n_draws, dtype=np.int64), np.zeros(n_draws, dtype=np.int64)
    layers = np.full((n_draws, n), n)
    uniform = rng.random((n_draws, n))  # row by row, so that fewer draws are the first of many
    level = 0
    while (left := np.flatnonzero(placed != (1 << n) - 1)).size:
        states = np.column_stack([placed[left], last[left]])
        last[left] = _sample_next_layers(weights, after, states, uniform[left, level])
        placed[left] |= last[left]
        layers[left] = np.where(last[left, None] >> np.arange(n) & 1, level, layers[left])
        level += 1
    return layers


def _sample_next_layers(weights: Scaled, after: Scaled, states: Masks, uniform: Floats) -> Masks:
    """The next layer of each draw as a mask, from its nodes placed and last layer."""
    different, group = np.unique(states, axis=0, return_inverse=True)
    order = np.argsort(group.ravel(), kind="stable")
    bounds = np.searchsorted(group.ravel()[order], np.arange(len(different) + 1))
    picks = uniform[order]
    chosen = np.empty(len(order), dtype=np.int64)

    def work(start: int, stop: int) -> None:
        _next_layers(
            *weights,
            *after,
            different[start:stop],
            bounds[start : stop + 1],
            picks,
            chosen,
        )

    run_chunked(work, len(different), chunks_per_thread=8)
    found = np.empty_like(chosen)
    found[order] = chosen
    return found


@kernel
def _next_layers(factor, shift, mantissa, exponent, states, bounds, uniform, chosen):
    """Draw the next layer of all draws of each state, given as placed nodes and last layer.

    The draws of state s have the numbers ``bounds[s]..bounds[s+1]``.
    """
    n = factor.shape[0]
    largest = 0
    for state in range(states.shape[0]):
        n_free = 0
        for node in range(n):
            n_free += not states[state, 0] >> node & 1
        largest = max(largest, n_free)
    unions = np.empty(1 << largest, dtype=np.int64)
    weights, powers = np.empty(1 << largest), np.empty(1 << largest)
    for state in range(states.shape[0]):
        placed, last = states[state, 0], states[state, 1]
        size = _weigh_layers(
            factor, shift, mantissa, exponent, placed, last, unions, weights, powers
        )
        for r in range(1, size):
            weights[r] += weights[r - 1]
        for draw in range(bounds[state], bounds[state + 1]):
            picked = _count_up_to(weights, size, uniform[draw] * weights[size - 1])
            chosen[draw] = unions[min(picked, size - 1)] ^ placed


@inlined
def _count_up_to(values, size, bound):
    """How many of the first ``size`` values, which ascend, are not above ``bound``."""
    low, high = 0, size
    while low < high:
        middle = (low + high) // 2
        if values[middle] <= bound:
            low = middle + 1
        else:
            high = middle
    return low


@inlined
def _weigh_layers(factor, shift, mantissa, exponent, placed, last, unions, weights, powers):
    """The weight of every set of free nodes as the next layer, up to a common factor.

    The unions of these sets with the placed nodes are listed; their number is returned.
    """
    n = factor.shape[0]
    size = list_supersets(placed, 0, n, unions)
    powers[0] = BIAS - exponent[placed]
    half = 1
    for node in range(n):
        if not placed >> node & 1:
            for r in range(half):
                powers[half + r] = powers[r] + shift[node, skip_bit(placed, node)]
            half *= 2
    for r in range(size):
        weights[r] = mantissa[unions[r]] * biased_power(powers[r] + exponent[unions[r]])
    half = 1
    for node in range(n):
        if not placed >> node & 1:
            outside = factor[node, skip_bit(placed, node)]
            for block in range(0, size, 2 * half):
                for r in range(block, block + half):
                    weights[r] -= outside * weights[r + half]
            half *= 2
    products = powers
    products[0] = 1.0
    half = 1
    for node in range(n):
        if not placed >> node & 1:
            meeting = _meeting_weight(factor, shift, node, placed, last)
            for r in range(half):
                products[half + r] = products[r] * meeting
            half *= 2
    weights[0] = 0.0
    for r in range(1, size):
        weights[r] = max(0.0, weights[r] * products[r])
    return size


@inlined
def _meeting_weight(factor, shift, node, placed, last):
    """tau: the weight of the parent sets among ``placed`` that meet ``last``, if there is one.

    In units of 2^exponent of the weight of all sets among ``placed``.
    """
    within = skip_bit(placed, node)
    if placed == 0:
        return factor[node, within]
    without = skip_bit(placed ^ last, node)
    ratio = biased_power(shift[node, without] - shift[node, within] + BIAS)
    return factor[node, within] - factor[node, without] * ratio


@kernel
def _fill_parents(scores, factor, shift, layers, rng, dags):
    """Draw the parents of every node, given the layers of the DAGs."""
    n = scores.shape[0]
    for draw in range(dags.shape[0]):
        layer = layers[draw]
        for node in range(n):
            if layer[node] > 0:
                placed = last = 0
                for u in range(n):
                    placed |= (layer[u] < layer[node]) << u
                    last |= (layer[u] == layer[node] - 1) << u
                parents = sample_parents(
                    scores[node],
                    factor[node],
                    shift[node],
                    skip_bit(placed, node),
                    skip_bit(last, node),
                    rng,
                )
                for i in range(n - 1):
                    if parents >> i & 1:
                        dags[draw, i + (i >= node), node] = True
