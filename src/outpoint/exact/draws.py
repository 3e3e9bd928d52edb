"""Independent DAGs from the exact posterior: layer by layer, then parents node by node.

With the nodes P placed, T the last layer and U the rest, the next layer is R with weight
``a[U - R] * prod_{i in R} tau_i(P, T)``, where ``a`` is the inclusion-exclusion table of U given
P (MATH section 6); the first layer has no parents. No chain, no burn-in: every draw is perfect.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from outpoint.exact.recursions import Scaled, load_completions, make_workspace
from outpoint.exact.scaled import LOG_2
from outpoint.kernels import kernel, run_chunked
from outpoint.tables import ScoreTable
from outpoint.tables.queries import candidate_masks, sample_parents, scan_ranked

DRAWS_PER_STREAM = 50
"""Draws made with one random stream; fixed, so that results do not depend on the threads."""


def sample_dags(
    table: ScoreTable,
    upward: Scaled,
    n_draws: int,
    rng: np.random.Generator,
    done: Callable[[int], None] | None = None,
) -> NDArray[np.bool_]:
    """``n_draws`` independent adjacency matrices from the posterior of a complete table."""
    n = table.n_nodes
    dags = np.zeros((n_draws, n, n), dtype=np.bool_)
    first = np.empty(1 << n)
    _first_layer(table.dense, table.log_sums, upward.mantissa, upward.exponent, first)
    streams = rng.spawn(-(-n_draws // DRAWS_PER_STREAM))
    ranked, log_sums = table.ranked, table.log_sums

    def work(start: int, stop: int) -> None:
        for i in range(start, stop):
            _sample_block(
                table.candidates,
                log_sums,
                ranked,
                table.outside,
                upward.mantissa,
                upward.exponent,
                first,
                streams[i],
                dags[i * DRAWS_PER_STREAM : (i + 1) * DRAWS_PER_STREAM],
            )

    run_chunked(
        work,
        len(streams),
        chunks_per_thread=max(1, len(streams)),
        done=None if done is None else lambda blocks: done(blocks * DRAWS_PER_STREAM),
    )
    return dags


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
def _draw_index(weights, size, uniform):
    total = 0.0
    for r in range(size):
        total += weights[r]
    left = uniform * total
    chosen = 0
    for r in range(size):
        if weights[r] > 0.0:
            chosen = r
            left -= weights[r]
            if left < 0.0:
                break
    return chosen


@kernel
def _sample_block(candidates, log_sums, ranked, outside, mantissa, exponent, first, rng, dags):
    n = candidates.shape[0]
    full = (1 << n) - 1
    work = make_workspace(n - 1)
    weights = np.empty(1 << (n - 1))
    log_tau = np.empty(n)
    layer = np.empty(n, dtype=np.int64)
    parents = np.empty(n, dtype=np.int64)
    for draw in range(dags.shape[0]):
        layer[:] = n
        placed = np.searchsorted(first, rng.random() * first[-1], side="right")
        for node in range(n):
            if placed >> node & 1:
                layer[node] = 0
        level = 1
        while placed != full:
            for node in range(n):
                if layer[node] == n:
                    allowed, previous = candidate_masks(candidates[node], layer, level)
                    log_tau[node] = scan_ranked(ranked, node, allowed, previous, True)
            count = load_completions(log_sums, full ^ placed, mantissa, exponent, work)
            _remaining_weights(log_tau, count, work, weights)
            chosen = _draw_index(weights, 1 << count, rng.random())
            for i in range(count):
                if chosen >> i & 1:
                    layer[work.nodes[i]] = level
                    placed |= 1 << work.nodes[i]
            level += 1
        for node in range(n):
            if layer[node] > 0:
                size = sample_parents(
                    candidates, ranked, outside, node, layer, layer[node], True, rng, parents
                )
                for i in range(size):
                    dags[draw, parents[i], node] = True
