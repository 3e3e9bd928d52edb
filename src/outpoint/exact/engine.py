"""The exact posterior over DAGs: one pass of O(n 3^n) additions, every answer from its tables."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from outpoint.errors import OptionError, OutpointError
from outpoint.exact.best import find_best
from outpoint.exact.draws import sample_dags
from outpoint.exact.recursions import (
    Floats,
    Scaled,
    masks_by_size,
    sum_downward,
    sum_upward,
)
from outpoint.exact.scaled import LOG_2
from outpoint.kernels import kernel, run_chunked
from outpoint.tables import ScoreTable
from outpoint.tables.bits import insert_bit
from outpoint.tables.logspace import sum_over_supersets

TOLERANCE = 1e-6
"""Largest accepted disagreement of quantities that theory says are equal."""


@dataclass(frozen=True)
class ExactSolution:
    """Everything the exact engine knows about a posterior over DAGs.

    ``edges[u, v]`` and ``ancestors[u, v]`` are probabilities, ``log_parent_sets[v, mask]`` log
    probabilities of parent sets (mask over the candidates of v). ``discrepancy`` is the largest
    deviation seen in the checks: two independent sums for the evidence, and probabilities that
    must add up to one.
    """

    table: ScoreTable
    log_evidence: float
    edges: Floats
    ancestors: Floats
    log_parent_sets: Floats
    best_adjacency: NDArray[np.bool_]
    best_log_score: float
    discrepancy: float
    _upward: Scaled

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the variables."""
        return self.table.names

    @property
    def candidates(self) -> NDArray[np.int32]:
        """All other nodes, for each node."""
        return self.table.candidates

    @property
    def n_stored(self) -> None:
        """As many draws as one likes can be made."""

    def sample(
        self,
        n_draws: int,
        rng: np.random.Generator,
        done: Callable[[int], None] | None = None,
    ) -> NDArray[np.bool_]:
        """Independent draws from the posterior, as adjacency matrices (draw, parent, child)."""
        return sample_dags(self.table, self._upward, n_draws, rng, done)

    def draw(self, n_draws: int, seed: int) -> tuple[NDArray[np.bool_], Floats]:
        """Independent draws and their log scores; the same seed gives the same draws."""
        dags = self.sample(n_draws, np.random.default_rng(seed))
        return dags, self.log_scores_of(dags)

    def log_scores_of(self, dags: NDArray[np.bool_]) -> Floats:
        """Log scores of adjacency matrices (draw, parent, child)."""
        total = np.zeros(len(dags))
        for child in range(self.table.n_nodes):
            candidates = self.table.candidates[child]
            masks = dags[:, candidates, child] @ (1 << np.arange(len(candidates)))
            total += self.table.dense[child, masks]
        return total


def solve(table: ScoreTable, progress: Callable[[float], None] | None = None) -> ExactSolution:
    """Compute the exact posterior of a complete table.

    ``progress`` is called with the finished fraction of the work.
    """
    if not table.is_complete:
        raise OptionError("the exact engine needs a table in which all nodes are candidates.")
    n = table.n_nodes
    levels = masks_by_size(n)
    advance = _fraction_of(3.0 * 3.0**n, progress)
    downward = sum_downward(table.log_sums, levels, advance)
    upward, log_gamma = sum_upward(table.log_sums, levels, advance)
    everything = (1 << n) - 1
    log_evidence = downward.log(everything)
    if not np.isfinite(log_evidence):
        raise OptionError("no DAG is admissible: the scores or constraints exclude all of them.")
    with np.errstate(divide="ignore"):  # sets on which no DAG is admissible
        log_before = np.log(downward.mantissa) + downward.exponent * LOG_2 - log_evidence
    ancestors, descent_total = _ancestors(table.log_sums, log_before, log_gamma)
    log_parent_sets = _parent_sets(table.dense, log_before, log_gamma)
    edges, parents_total = _edges(log_parent_sets)
    discrepancy = max(
        abs(upward.log(everything) - log_evidence),
        float(np.abs(descent_total - 1).max()),
        float(np.abs(parents_total - 1).max()),
    )
    if not discrepancy < TOLERANCE:
        raise OutpointError(
            f"the exact sums disagree by {discrepancy:.1e} (rounding): use MCMC for these data."
        )
    best_adjacency, best_log_score = find_best(table)
    return ExactSolution(
        table,
        log_evidence,
        np.clip(edges, 0.0, 1.0),
        np.clip(ancestors, 0.0, 1.0),
        np.minimum(log_parent_sets, 0.0, out=log_parent_sets),
        best_adjacency,
        best_log_score,
        discrepancy,
        upward,
    )


def _fraction_of(total: float, progress: Callable[[float], None] | None) -> Callable[[float], None]:
    finished = 0.0

    def advance(work: float) -> None:
        nonlocal finished
        finished += work
        if progress is not None:
            progress(min(1.0, finished / total))

    return advance


def _ancestors(log_sums: Floats, log_before: Floats, log_gamma: Floats) -> tuple[Floats, Floats]:
    """[v, u]: probability that v is an ancestor of u; and each v's total, which should be 1."""
    n = len(log_sums)
    ancestors = np.zeros((n, n))
    total = np.zeros(n)

    def work(start: int, stop: int) -> None:
        _add_descents(log_sums, log_before, log_gamma, ancestors, total, start, stop)

    run_chunked(work, n)
    return ancestors, total


@kernel
def _add_descents(log_sums, log_before, log_gamma, ancestors, total, start, stop):
    """P(the non-descendants of v are exactly P) = h(P) w_v(P) gamma_v(P) / Z, summed up."""
    n = log_sums.shape[0]
    for node in range(start, stop):
        for rest in range(log_sums.shape[1]):
            before = insert_bit(rest, node)
            log_weight = log_before[before] + log_sums[node, rest] + log_gamma[node, rest]
            if log_weight > -80.0:
                probability = np.exp(log_weight)
                total[node] += probability
                for u in range(n):
                    if u != node and not before >> u & 1:
                        ancestors[node, u] += probability


def _parent_sets(dense: Floats, log_before: Floats, log_gamma: Floats) -> Floats:
    """log P(pa(v) = S): the score of S times the weight of all P containing S."""
    out = log_gamma  # reused: the largest array of the engine

    def work(start: int, stop: int) -> None:
        for node in range(start, stop):
            _add_before(node, log_before, out[node])
            sum_over_supersets(out[node])
            out[node] += dense[node]

    run_chunked(work, len(dense))
    return out


@kernel
def _add_before(node, log_before, log_gamma):
    for rest in range(log_gamma.size):
        log_gamma[rest] += log_before[insert_bit(rest, node)]


def _edges(log_parent_sets: Floats) -> tuple[Floats, Floats]:
    """[u, v]: probability of the edge u -> v; and each child's total, which should be 1."""
    n = len(log_parent_sets)
    edges = np.zeros((n, n))
    total = np.zeros(n)
    run_chunked(lambda start, stop: _add_parents(log_parent_sets, edges, total, start, stop), n)
    return edges, total


@kernel
def _add_parents(log_parent_sets, edges, total, start, stop):
    n = log_parent_sets.shape[0]
    for child in range(start, stop):
        for rest in range(log_parent_sets.shape[1]):
            if log_parent_sets[child, rest] > -80.0:
                probability = np.exp(log_parent_sets[child, rest])
                total[child] += probability
                mask = insert_bit(rest, child)
                for u in range(n):
                    if mask >> u & 1:
                        edges[u, child] += probability
