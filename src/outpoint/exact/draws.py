"""Independent DAGs from the exact posterior: layer by layer, then parents node by node.

With the nodes P placed, T the last layer and U the rest, the next layer is R with weight
``a[U - R] * prod_{i in R} tau_i(P, T)``, where ``a`` is the inclusion-exclusion table of U given
P (MATH section 6); the first layer has no parents. No chain, no burn-in: every draw is perfect.
All draws go forward together, and those that have the same P and T share one table of weights.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from outpoint.exact.recursions import Scaled, load_completions, make_workspace
from outpoint.exact.scaled import LOG_2
from outpoint.kernels import kernel, run_chunked
from outpoint.tables import ScoreTable
from outpoint.tables.bits import insert_bit, skip_bit
from outpoint.tables.logspace import LOG_EPSILON, log_add

DRAWS_PER_STREAM = 50
"""Draws whose parents come from one random stream; fixed, whatever the number of threads."""


def sample_dags(
    table: ScoreTable,
    upward: Scaled,
    n_draws: int,
    rng: np.random.Generator,
    done: Callable[[int], None] | None = None,
) -> NDArray[np.bool_]:
    """``n_draws`` independent adjacency matrices from the posterior of a complete table."""
    layers = _sample_layers(table, upward, n_draws, rng)
    n = table.n_nodes
    dags = np.zeros((n_draws, n, n), dtype=np.bool_)
    streams = rng.spawn(-(-n_draws // DRAWS_PER_STREAM))
    ranked = table.ranked

    def work(start: int, stop: int) -> None:
        for i in range(start, stop):
            block = slice(i * DRAWS_PER_STREAM, (i + 1) * DRAWS_PER_STREAM)
            _sample_parents(ranked, layers[block], streams[i], dags[block])

    run_chunked(
        work,
        len(streams),
        done=None if done is None else lambda blocks: done(blocks * DRAWS_PER_STREAM),
    )
    return dags


def _sample_layers(
    table: ScoreTable, upward: Scaled, n_draws: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """The layer of every node in every draw."""
    n = table.n_nodes
    cumulative = np.empty(1 << n)
    _first_layer(table.dense, table.log_sums, upward.mantissa, upward.exponent, cumulative)
    last = _pick(cumulative, rng.random(n_draws))
    placed = last.copy()
    layers = np.where(last[:, None] >> np.arange(n) & 1, 0, n)
    level = 0
    while (left := np.flatnonzero(placed != (1 << n) - 1)).size:
        level += 1
        states = np.column_stack([placed[left], last[left]])
        last[left] = _sample_next_layers(table, upward, states, rng.random(len(left)))
        placed[left] |= last[left]
        layers[left] = np.where(last[left, None] >> np.arange(n) & 1, level, layers[left])
    return layers


def _sample_next_layers(
    table: ScoreTable,
    upward: Scaled,
    states: NDArray[np.int64],
    uniform: NDArray[np.float64],
) -> NDArray[np.int64]:
    """The next layer of each draw as a mask, from its nodes placed and last layer."""
    different, group = np.unique(states, axis=0, return_inverse=True)
    order = np.argsort(group.ravel(), kind="stable")
    bounds = np.searchsorted(group.ravel()[order], np.arange(len(different) + 1))
    picks = uniform[order]
    chosen = np.empty(len(order), dtype=np.int64)
    log_sums, ranked = table.log_sums, table.ranked

    def work(start: int, stop: int) -> None:
        _next_layers(
            log_sums,
            ranked,
            upward.mantissa,
            upward.exponent,
            different[start:stop],
            bounds[start : stop + 1],
            picks,
            chosen,
        )

    run_chunked(work, len(different), chunks_per_thread=8)
    found = np.empty_like(chosen)
    found[order] = chosen
    return found


def _pick(cumulative: NDArray[np.float64], uniform: NDArray[np.float64]) -> NDArray[np.int64]:
    found = np.searchsorted(cumulative, uniform * cumulative[-1], side="right")
    return np.minimum(found, len(cumulative) - 1).astype(np.int64)


@kernel
def _remaining_weights(log_weights, count, work, weights):
    """``weights[R] = a[U - R] prod_{i in R} exp(log_weights[i])`` for the loaded set U.

    ``load_completions`` has scaled g(Y) by the powers of two of the nodes missing from Y, which
    is what the weights of R are divided by; only a factor common to all R is left out.
    """
    x = work.x
    for i in range(count):
        half = 1 << i
        for block in range(0, 1 << count, 2 * half):
            for y in range(block, block + half):
                x[y + half] -= work.factors[i] * x[y]
    weights[0] = 1.0
    size = 1
    for i in range(count):
        factor = np.exp(log_weights[work.nodes[i]] - work.shifts[i] * LOG_2)
        for r in range(size):
            weights[size + r] = weights[r] * factor
        size *= 2
    weights[0] = 0.0
    for r in range(1, size):
        weights[r] = max(0.0, weights[r] * x[size - 1 - r])


@kernel
def _first_layer(dense, log_sums, mantissa, exponent, cumulative):
    """Cumulative weights of all possible first layers."""
    n = dense.shape[0]
    work = make_workspace(n)
    count = load_completions(log_sums, (1 << n) - 1, mantissa, exponent, work)
    _remaining_weights(dense[:, 0].copy(), count, work, cumulative)
    for r in range(1, cumulative.size):
        cumulative[r] += cumulative[r - 1]


@kernel
def _next_layers(log_sums, ranked, mantissa, exponent, states, bounds, uniform, chosen):
    """Draw the next layer of all draws of each state, given as placed nodes and last layer.

    The draws of state s have the numbers ``bounds[s]..bounds[s+1]``.
    """
    n = log_sums.shape[0]
    full = (1 << n) - 1
    work = make_workspace(n - 1)
    weights = np.empty(1 << (n - 1))
    log_tau = np.empty(n)
    for state in range(states.shape[0]):
        placed, last = states[state, 0], states[state, 1]
        for node in range(n):
            if not placed >> node & 1:
                log_tau[node] = _log_meeting(
                    ranked, node, skip_bit(placed, node), skip_bit(last, node)
                )
        count = load_completions(log_sums, full ^ placed, mantissa, exponent, work)
        _remaining_weights(log_tau, count, work, weights)
        for r in range(1, 1 << count):
            weights[r] += weights[r - 1]
        total = weights[(1 << count) - 1]
        for draw in range(bounds[state], bounds[state + 1]):
            picked = np.searchsorted(weights[: 1 << count], uniform[draw] * total, side="right")
            picked = min(picked, (1 << count) - 1)
            mask = 0
            for i in range(count):
                if picked >> i & 1:
                    mask |= 1 << work.nodes[i]
            chosen[draw] = mask


@kernel
def _log_meeting(ranked, node, allowed, previous):
    """Log sum over the parent sets within ``allowed`` that meet ``previous``.

    Masks are of the other nodes, which are all candidates; read off the ranking, the sum needs no
    table of sums by member.
    """
    total = -np.inf
    for i in range(ranked.start[node], ranked.start[node + 1]):
        if ranked.log_tail[i] < total + LOG_EPSILON:
            break
        mask = np.int64(ranked.mask[i])
        if mask & ~allowed == 0 and mask & previous != 0:
            total = log_add(total, ranked.score[i])
    return total


@kernel
def _draw_meeting(ranked, node, allowed, previous, uniform):
    """A parent set within ``allowed`` that meets ``previous``, drawn by its score, as a mask."""
    log_total = _log_meeting(ranked, node, allowed, previous)
    chosen = np.int64(0)
    for i in range(ranked.start[node], ranked.start[node + 1]):
        mask = np.int64(ranked.mask[i])
        if mask & ~allowed == 0 and mask & previous != 0:
            chosen = mask
            uniform -= np.exp(ranked.score[i] - log_total)
            if uniform < 0.0:
                break
    return chosen


@kernel
def _sample_parents(ranked, layers, rng, dags):
    """Draw the parents of every node, given the layers of the DAGs."""
    n = layers.shape[1]
    for draw in range(dags.shape[0]):
        layer = layers[draw]
        for node in range(n):
            if layer[node] == 0:
                continue
            before, last = 0, 0
            for u in range(n):
                before |= np.int64(layer[u] < layer[node]) << u
                last |= np.int64(layer[u] == layer[node] - 1) << u
            chosen = _draw_meeting(
                ranked, node, skip_bit(before, node), skip_bit(last, node), rng.random()
            )
            parents = insert_bit(chosen, node)
            for u in range(n):
                dags[draw, u, node] = parents >> u & 1
