"""What a chain leaves behind: draws, scores, edge probabilities, the best DAG, counts.

Edge probabilities are summed in batches, one row of ``edge_sum`` after the other, so that their
Monte Carlo error can be judged. When all rows are taken, neighbours are added up and batches become
twice as long: however long a chain runs, between half and all of the rows are in use.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from outpoint.kernels import inlined
from outpoint.mcmc.moves import MOVES
from outpoint.tables.bits import skip_bit
from outpoint.tables.logspace import log_add

EDGE_ROWS = 512
"""Most batches of edge probabilities."""


class Draws(NamedTuple):
    """Kept DAGs, one after the other; the fields are those of :class:`Trace`."""

    masks: NDArray[np.uint32]
    log_score: NDArray[np.float64]
    log_weight: NDArray[np.float64]

    def part(self, which: slice) -> "Draws":
        """Some of the draws."""
        return Draws(self.masks[which], self.log_score[which], self.log_weight[which])


class Trace(NamedTuple):
    """Arrays that a running chain fills; one-element arrays are counters.

    ``masks[d, v]`` is the parent set of v in draw d, a mask over its candidates. ``log_weight`` is
    the log weight of what the draw was taken from: a partition, an order, or the DAG itself.
    ``edge_sum[b, v, i]`` adds up, over the ``batch_size`` visits of batch b, the probability that
    the i-th candidate of v is its parent.
    """

    masks: NDArray[np.uint32]
    log_score: NDArray[np.float64]
    log_weight: NDArray[np.float64]
    n_draws: NDArray[np.int64]
    edge_sum: NDArray[np.float64]
    n_edge_sums: NDArray[np.int64]
    batch_size: NDArray[np.int64]
    best_mask: NDArray[np.uint32]
    best_log_score: NDArray[np.float64]
    attempts: NDArray[np.int64]
    accepted: NDArray[np.int64]


def make_trace(n_nodes: int, n_draws: int, n_candidates: int | None = None) -> Trace:
    """An empty trace with room for ``n_draws`` draws; all other nodes are candidates by default."""
    n_candidates = n_nodes - 1 if n_candidates is None else n_candidates
    return Trace(
        masks=np.zeros((n_draws, n_nodes), dtype=np.uint32),
        log_score=np.zeros(n_draws),
        log_weight=np.zeros(n_draws),
        n_draws=np.zeros(1, dtype=np.int64),
        edge_sum=np.zeros((EDGE_ROWS, n_nodes, n_candidates)),
        n_edge_sums=np.zeros(1, dtype=np.int64),
        batch_size=np.ones(1, dtype=np.int64),
        best_mask=np.zeros(n_nodes, dtype=np.uint32),
        best_log_score=np.full(1, -np.inf),
        attempts=np.zeros(len(MOVES), dtype=np.int64),
        accepted=np.zeros(len(MOVES), dtype=np.int64),
    )


def spread_edges(
    by_candidate: NDArray[np.float64], candidates: NDArray[np.int32]
) -> NDArray[np.float64]:
    """Values [..., child, i-th candidate] as [..., parent, child]."""
    n = len(candidates)
    out = np.zeros((*by_candidate.shape[:-2], n, n))
    for child in range(n):
        out[..., candidates[child], child] = by_candidate[..., child, :]
    return out


@inlined
def next_edge_row(trace):
    """The batch that the next visit belongs to; all batches are merged in pairs if it is beyond."""
    n_rows = trace.edge_sum.shape[0]
    row = trace.n_edge_sums[0] // trace.batch_size[0]
    trace.n_edge_sums[0] += 1
    if row < n_rows:
        return row
    half = n_rows // 2
    for merged in range(half):
        trace.edge_sum[merged] = trace.edge_sum[2 * merged] + trace.edge_sum[2 * merged + 1]
    trace.edge_sum[half:] = 0.0
    trace.batch_size[0] *= 2
    return half


@inlined
def record_dag(trace, dag, log_weight):
    """Keep a draw, if there is room, and remember the best DAG."""
    draw = trace.n_draws[0]
    if draw < trace.log_score.size:
        total = 0.0
        for node in range(dag.mask.size):
            trace.masks[draw, node] = dag.mask[node]
            total += dag.log_score[node]
        trace.log_score[draw] = total
        trace.log_weight[draw] = log_weight
        trace.n_draws[0] = draw + 1
    remember_best(trace, dag)


@inlined
def remember_best(trace, dag):
    """Keep the DAG if no better one has been seen."""
    total = 0.0
    for node in range(dag.mask.size):
        total += dag.log_score[node]
    if total > trace.best_log_score[0]:
        trace.best_log_score[0] = total
        for node in range(dag.mask.size):
            trace.best_mask[node] = dag.mask[node]


@inlined
def add_edges_given_partition(trace, view, state, allowed):
    """Add P(u -> v | partition) for all edges: no noise from drawing a DAG (MATH section 5)."""
    n = state.order.size
    row = next_edge_row(trace)
    for u in range(n):
        allowed[u] = 0
    for level in range(1, state.n_layers[0]):
        begin, end = state.start[level - 1], state.start[level]
        for place in range(begin, end):
            for u in range(n):
                allowed[u] |= view.bit[state.order[place], u]
        for place in range(end, state.start[level + 1]):
            node = state.order[place]
            for i in range(view.candidates.shape[1]):
                if allowed[node] >> i & 1:
                    without = _log_tau_without(view, node, state, begin, end, allowed[node], i)
                    probability = 1.0 - np.exp(without - state.log_tau[node])
                    trace.edge_sum[row, node, i] += max(0.0, probability)


@inlined
def _log_tau_without(view, node, state, begin, end, allowed, left_out):
    """``log_tau`` of ``node`` if its candidate ``left_out`` did not exist."""
    allowed &= ~(1 << left_out)
    total = -np.inf
    for place in range(begin, end):
        position = view.position[node, state.order[place]]
        if position >= 0 and position != left_out:
            total = log_add(total, view.omega[node, position, skip_bit(allowed, position)])
            allowed &= ~(1 << position)
    return total


@inlined
def add_edges_of_dag(trace, dag):
    """Add the edges of a DAG."""
    row = next_edge_row(trace)
    for node in range(dag.mask.size):
        for i in range(trace.edge_sum.shape[2]):
            trace.edge_sum[row, node, i] += dag.mask[node] >> i & 1
