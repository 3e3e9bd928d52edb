"""What a chain leaves behind: draws, scores, summed edge probabilities, the best DAG, counts."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from outpoint.kernels import inlined
from outpoint.tables.bits import skip_bit
from outpoint.tables.logspace import log_add

MOVES = (
    "still",
    "split_join",
    "node_move",
    "swap_any",
    "swap_adjacent",
    "node_gibbs",
    "rev",
    "edge",
    "parents",
)
"""Everything a chain can do in a step, in the order of the counts."""


class Trace(NamedTuple):
    """Arrays that a running chain fills; one-element arrays are counters.

    ``masks[d, v]`` is the parent set of v in draw d, a mask over its candidates. ``log_weight`` is
    the log weight of what the draw was taken from: a partition, an order, or the DAG itself.
    """

    masks: NDArray[np.uint32]
    log_score: NDArray[np.float64]
    log_weight: NDArray[np.float64]
    n_draws: NDArray[np.int64]
    edge_sum: NDArray[np.float64]
    n_edge_sums: NDArray[np.int64]
    best_mask: NDArray[np.uint32]
    best_log_score: NDArray[np.float64]
    attempts: NDArray[np.int64]
    accepted: NDArray[np.int64]
    swap_attempts: NDArray[np.int64]
    swap_accepted: NDArray[np.int64]


def make_trace(n_nodes: int, n_draws: int, n_replicas: int = 1) -> Trace:
    """An empty trace with room for ``n_draws`` draws."""
    return Trace(
        masks=np.zeros((n_draws, n_nodes), dtype=np.uint32),
        log_score=np.zeros(n_draws),
        log_weight=np.zeros(n_draws),
        n_draws=np.zeros(1, dtype=np.int64),
        edge_sum=np.zeros((n_nodes, n_nodes)),
        n_edge_sums=np.zeros(1, dtype=np.int64),
        best_mask=np.zeros(n_nodes, dtype=np.uint32),
        best_log_score=np.full(1, -np.inf),
        attempts=np.zeros(len(MOVES), dtype=np.int64),
        accepted=np.zeros(len(MOVES), dtype=np.int64),
        swap_attempts=np.zeros(n_replicas, dtype=np.int64),
        swap_accepted=np.zeros(n_replicas, dtype=np.int64),
    )


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
                    parent = view.candidates[node, i]
                    probability = 1.0 - np.exp(without - state.log_tau[node])
                    trace.edge_sum[parent, node] += max(0.0, probability)
    trace.n_edge_sums[0] += 1


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
    for node in range(dag.n_parents.size):
        for i in range(dag.n_parents[node]):
            trace.edge_sum[dag.parents[node, i], node] += 1.0
    trace.n_edge_sums[0] += 1
