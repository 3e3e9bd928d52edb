"""What a chain leaves behind: draws, scores, edge probabilities, the best DAG, counts.

Edge probabilities are summed in batches, one row of ``edge_sum`` after the other, so that their
Monte Carlo error can be judged. When all rows are taken, neighbours are added up and batches become
twice as long: however long a chain runs, between half and all of the rows are in use.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from outpoint.kernels import inlined
from outpoint.mcmc.dag import dag_score
from outpoint.mcmc.moves import MOVES
from outpoint.mcmc.sums import INSIDE, allowed_mask, log_meeting, previous_mask
from outpoint.tables.parent_sets import count_candidates

EDGE_ROWS = 512
"""Most batches of edge probabilities."""

OUTSIDE_ROWS = 32
"""Most batches of the edges from outside the candidates, which are many and rare."""


class KeptDags(NamedTuple):
    """Kept DAGs, one after the other; the fields are those of :class:`Trace`."""

    codes: NDArray[np.int32]
    log_score: NDArray[np.float64]
    log_weight: NDArray[np.float64]

    def part(self, which: slice) -> "KeptDags":
        """Some of the draws."""
        return KeptDags(self.codes[which], self.log_score[which], self.log_weight[which])


class Trace(NamedTuple):
    """Arrays that a running chain fills; one-element arrays are counters.

    ``codes[d, v]`` is the parent set of v in draw d (see ``mcmc.sums``). ``log_weight`` is the log
    weight of what the draw was taken from: a partition, an order, or the DAG itself.
    ``edge_sum[b, v, i]`` adds up, over the ``batch_size`` visits of batch b, the probability that
    the i-th candidate of v is its parent; ``outside_sum[c, u, v]`` that of all other edges, in
    batches that are longer by the ratio of the numbers of rows.
    """

    codes: NDArray[np.int32]
    log_score: NDArray[np.float64]
    log_weight: NDArray[np.float64]
    n_draws: NDArray[np.int64]
    edge_sum: NDArray[np.float64]
    outside_sum: NDArray[np.float64]
    n_edge_sums: NDArray[np.int64]
    batch_size: NDArray[np.int64]
    best_code: NDArray[np.int32]
    best_log_score: NDArray[np.float64]
    attempts: NDArray[np.int64]
    accepted: NDArray[np.int64]


def make_trace(
    n_nodes: int, n_draws: int, n_candidates: int | None = None, *, with_outside: bool = False
) -> Trace:
    """An empty trace with room for ``n_draws`` draws; all other nodes are candidates by default."""
    n_candidates = n_nodes - 1 if n_candidates is None else n_candidates
    n_outside = n_nodes if with_outside else 0
    return Trace(
        codes=np.zeros((n_draws, n_nodes), dtype=np.int32),
        log_score=np.zeros(n_draws),
        log_weight=np.zeros(n_draws),
        n_draws=np.zeros(1, dtype=np.int64),
        edge_sum=np.zeros((EDGE_ROWS, n_nodes, n_candidates)),
        outside_sum=np.zeros((OUTSIDE_ROWS, n_outside, n_outside)),
        n_edge_sums=np.zeros(1, dtype=np.int64),
        batch_size=np.ones(1, dtype=np.int64),
        best_code=np.zeros(n_nodes, dtype=np.int32),
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
    for child, number in enumerate(count_candidates(candidates)):
        out[..., candidates[child, :number], child] = by_candidate[..., child, :number]
    return out


@inlined
def next_edge_row(trace):
    """The batch that the next visit belongs to; all batches are merged in pairs if it is beyond."""
    n_rows = trace.edge_sum.shape[0]
    row = trace.n_edge_sums[0] // trace.batch_size[0]
    trace.n_edge_sums[0] += 1
    if row < n_rows:
        return row
    _merge_rows(trace.edge_sum)
    _merge_rows(trace.outside_sum)
    trace.batch_size[0] *= 2
    return n_rows // 2


@inlined
def _merge_rows(sums):
    """Add neighbouring rows up, the first two in the first row and so on; the rest becomes 0."""
    for row in range(sums.shape[0]):
        for i in range(sums.shape[1]):
            for j in range(sums.shape[2]):
                total = 0.0
                if 2 * row + 1 < sums.shape[0]:
                    total = sums[2 * row, i, j] + sums[2 * row + 1, i, j]
                sums[row, i, j] = total


@inlined
def record_dag(trace, dag, log_weight):
    """Keep a draw, if there is room, and remember the best DAG."""
    draw = trace.n_draws[0]
    if draw < trace.log_score.size:
        for node in range(dag.code.size):
            trace.codes[draw, node] = dag.code[node]
        trace.log_score[draw] = dag_score(dag)
        trace.log_weight[draw] = log_weight
        trace.n_draws[0] = draw + 1
    remember_best(trace, dag)


@inlined
def remember_best(trace, dag):
    """Keep the DAG if no better one has been seen."""
    total = dag_score(dag)
    if total > trace.best_log_score[0]:
        trace.best_log_score[0] = total
        for node in range(dag.code.size):
            trace.best_code[node] = dag.code[node]


@inlined
def add_edges_given_partition(trace, view, state):
    """Add P(u -> v | partition) for all edges: no noise from drawing a DAG."""
    row = next_edge_row(trace)
    for node in range(state.order.size):
        level = state.layer[node]
        if state.held[node] != INSIDE:
            add_outside_set(trace, view, row, node, state.held[node], 1.0)
        elif level > 0:
            allowed = allowed_mask(view, node, state.layer, level)
            previous = previous_mask(view, node, state.layer, level)
            for i in range(view.n_candidates[node]):
                if allowed >> i & 1:
                    bit = 1 << i
                    without = log_meeting(view, node, allowed & ~bit, previous & ~bit)
                    probability = 1.0 - np.exp(without - state.log_tau[node])
                    trace.edge_sum[row, node, i] += max(0.0, probability)


@inlined
def add_outside_set(trace, view, row, node, place, share):
    """Add ``share`` to the edges of an outside set, in the batch of ``row``."""
    outside_row = row // (trace.edge_sum.shape[0] // trace.outside_sum.shape[0])
    for k in range(view.outside.members.shape[1]):
        u = view.outside.members[place, k]
        if u < 0:
            break
        position = view.position[node, u]
        if position >= 0:
            trace.edge_sum[row, node, position] += share
        else:
            trace.outside_sum[outside_row, u, node] += share


@inlined
def add_edges_of_dag(trace, view, dag):
    """Add the edges of a DAG."""
    row = next_edge_row(trace)
    for node in range(dag.code.size):
        if dag.code[node] < 0:
            add_outside_set(trace, view, row, node, ~dag.code[node], 1.0)
        else:
            for i in range(trace.edge_sum.shape[2]):
                trace.edge_sum[row, node, i] += dag.code[node] >> i & 1
