"""The exact posterior over DAGs: two sums of 3^n terms, every answer from their tables.

The best DAG comes by dynamic programming over sets: M(U) = max_v M(U - v) + best_v(U - v). Parent
sets are listed with their probabilities, by mask.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from outpoint.arrays import Booleans, Floats
from outpoint.errors import OptionError, OutpointError
from outpoint.exact.draws import sample_dags
from outpoint.exact.sums import (
    Scaled,
    log_mantissa,
    scale_by_best_orders,
    sum_dags_after_sets,
    sum_dags_on_sets,
    sum_over_larger,
    sum_scores,
)
from outpoint.kernels import kernel, run_chunked
from outpoint.progress import FractionCallback, tell_fractions
from outpoint.tables import ScoreTable
from outpoint.tables.logspace import insert_bit, skip_bit
from outpoint.tables.table import best_subset, tie_tolerance


def find_best(table: ScoreTable) -> tuple[Booleans, float]:
    """Adjacency matrix and log score of the best DAG of a complete table."""
    best = best_on_sets(table)
    return _trace_back(table, best, None), float(best[-1])


def find_optima(
    table: ScoreTable, rng: np.random.Generator, n_tries: int
) -> tuple[list[Booleans], float]:
    """The best DAG, further ones that tie with it, and their log score.

    Of sets and nodes that tie, the first DAG takes the first; then ``n_tries`` are drawn, so that
    ties are likely to show, but a list of all of them is not promised.
    """
    best = best_on_sets(table)
    log_score = float(best[-1])
    found = {(dag := _trace_back(table, best, None)).tobytes(): dag}
    if log_score > -np.inf:
        for _ in range(n_tries):
            dag = _trace_back(table, best, rng)
            if log_scores_of(table, dag[None])[0] >= log_score - tie_tolerance(log_score):
                found.setdefault(dag.tobytes(), dag)
    return list(found.values()), log_score


def best_on_sets(table: ScoreTable) -> Floats:
    """The log score of the best DAG on every set of nodes, by bit mask."""
    best = np.full(1 << table.n_nodes, -np.inf)
    best[0] = 0.0
    _fill_best(table.maxima.matrix, best)
    return best


def _trace_back(table: ScoreTable, best: Floats, rng: np.random.Generator | None) -> Booleans:
    """One of the best DAGs: from the set of all nodes, take away a best last node each time."""
    n = table.n_nodes
    adjacency = np.zeros((n, n), dtype=np.bool_)
    mask = (1 << n) - 1
    if best[mask] == -np.inf:
        return adjacency
    slack = 0.0 if rng is None else tie_tolerance(float(best[mask]))
    while mask:
        nodes = [v for v in range(n) if mask >> v & 1]
        scores = [
            best[mask ^ (1 << v)] + table.maxima[v, skip_bit(mask ^ (1 << v), v)] for v in nodes
        ]
        tied = [v for v, score in zip(nodes, scores, strict=True) if score >= best[mask] - slack]
        child = tied[0] if rng is None else tied[int(rng.integers(len(tied)))]
        mask ^= 1 << child
        parents = insert_bit(best_subset(table, child, skip_bit(mask, child), rng), child)
        adjacency[[u for u in range(n) if parents >> u & 1], child] = True
    return adjacency


def log_scores_of(table: ScoreTable, dags: Booleans) -> Floats:
    """Log scores of adjacency matrices (draw, parent, child), from a complete table."""
    total = np.zeros(len(dags))
    for child in range(table.n_nodes):
        candidates = table.candidates[child]
        masks = dags[:, candidates, child] @ (1 << np.arange(len(candidates)))
        total += table.dense[child, masks]
    return total


@kernel
def _fill_best(maxima, best):
    n = maxima.shape[0]
    for mask in range(1, 1 << n):
        top = -np.inf
        for node in range(n):
            bit = 1 << node
            if mask & bit:
                rest = mask ^ bit
                top = max(top, best[rest] + maxima[node, skip_bit(rest, node)])
        best[mask] = top


QUICKLY_DRAWN = 15
"""Drawing DAGs is quick up to this number of variables."""


class StoredDraws:
    """Draws that were read, as many as there are."""

    dags: Booleans
    log_scores: Floats

    @property
    def n_stored(self) -> int:
        """Number of draws in the file."""
        return len(self.dags)

    def draw(self, n_draws: int, seed: int) -> tuple[Booleans, Floats]:
        """The first ``n_draws`` of the stored draws."""
        if n_draws > len(self.dags):
            raise OptionError(
                f"the file holds {len(self.dags)} draws, not {n_draws}: ask for fewer, or learn "
                "the posterior again."
            )
        return self.dags[:n_draws], self.log_scores[:n_draws]


class DenseParentSets:
    """Answers of a solution whose ``log_parent_sets`` [child, mask] are over ``candidates``.

    It is about one part, all variables together.
    """

    log_parent_sets: Floats

    if TYPE_CHECKING:

        @property
        def candidates(self) -> NDArray[np.int32]: ...

    @property
    def part_sizes(self) -> tuple[int, ...]:
        """Number of variables of each part: there is one."""
        return (len(self.candidates),)

    @property
    def is_quickly_drawn(self) -> bool:
        """Whether ten thousand draws are made at once and take little room."""
        return len(self.candidates) <= QUICKLY_DRAWN

    @property
    def drawn_ancestors(self) -> Booleans | None:
        """Which probabilities of ancestors are averages over draws: none."""
        return None

    def log_parent_set(self, child: int, parents: Collection[int]) -> float:
        """Log probability that these are the parents of a node."""
        candidates = self.candidates[child].tolist()
        mask = sum(1 << candidates.index(u) for u in parents)
        return float(self.log_parent_sets[child, mask])

    def likely_sets(self, child: int, at_least: float) -> list[tuple[tuple[int, ...], float]]:
        """Parent sets of at least this probability, with its log, most probable first."""
        log_sets = self.log_parent_sets[child]
        chosen = np.flatnonzero(log_sets >= np.log(at_least))
        ranked = chosen[np.argsort(-log_sets[chosen], kind="stable")]
        members = self.candidates[child].tolist()
        return [
            (tuple(u for i, u in enumerate(members) if mask >> i & 1), float(log_sets[mask]))
            for mask in ranked.tolist()
        ]


TOLERANCE = 1e-6
"""Largest accepted disagreement of quantities that theory says are equal."""

NEGLIGIBLE_PROBABILITY = 1e-35
"""A probability so small that even all sets of nodes together could not make it visible."""


@dataclass(frozen=True)
class ExactSolution(DenseParentSets):
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
    best_adjacency: Booleans
    best_log_score: float
    discrepancy: float
    _weights: Scaled
    _after: Scaled

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
        """None, as any number of draws can be made."""

    def sample(
        self,
        n_draws: int,
        rng: np.random.Generator,
        done: Callable[[int], None] | None = None,
    ) -> Booleans:
        """Independent draws from the posterior, as adjacency matrices (draw, parent, child)."""
        return sample_dags(self.table.dense.matrix, self._weights, self._after, n_draws, rng, done)

    def draw(self, n_draws: int, seed: int) -> tuple[Booleans, Floats]:
        """Independent draws and their log scores; the same seed gives the same draws."""
        dags = self.sample(n_draws, np.random.default_rng(seed))
        return dags, log_scores_of(self.table, dags)


def solve(table: ScoreTable, progress: FractionCallback | None = None) -> ExactSolution:
    """Compute the exact posterior of a complete table.

    ``progress`` is called with the finished fraction of the work.
    """
    if not table.is_complete:
        raise OptionError("the exact engine needs a table in which all nodes are candidates.")
    advance = tell_fractions(3.0 * 3.0**table.n_nodes, progress)
    weights = sum_scores(table.dense.matrix, table.maxima.matrix)
    scales = scale_by_best_orders(weights)
    before = sum_dags_on_sets(weights, scales, advance)
    log_evidence = before.log(-1)
    if not np.isfinite(log_evidence):
        raise OptionError("no DAG is admissible: the scores or constraints exclude all of them.")
    # A term of the second sum takes about twice as long.
    after, descents = sum_dags_after_sets(
        weights, scales, before, lambda terms: advance(2.0 * terms)
    )
    ancestors, descent_total = _ancestors(descents)
    log_parent_sets, edges, parents_total = _parent_sets(table.dense.matrix, weights, descents)
    discrepancy = max(
        abs(after.log(0) - log_evidence),
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
        log_parent_sets,
        best_adjacency,
        best_log_score,
        discrepancy,
        weights,
        after,
    )


def log_sum_of_dags(table: ScoreTable) -> float:
    """Log of the sum of the weights of all DAGs of a complete table, and nothing else."""
    weights = sum_scores(table.dense.matrix, table.maxima.matrix)
    return sum_dags_on_sets(weights, scale_by_best_orders(weights), lambda _: None).log(-1)


def find_descents(table: ScoreTable) -> Floats:
    """``[v, P]``: the probability that P, numbered without v, is what does not descend from v."""
    weights = sum_scores(table.dense.matrix, table.maxima.matrix)
    scales = scale_by_best_orders(weights)
    before = sum_dags_on_sets(weights, scales, lambda _: None)
    return sum_dags_after_sets(weights, scales, before, lambda _: None)[1]


def _ancestors(descents: Floats) -> tuple[Floats, Floats]:
    """[v, u]: probability that v is an ancestor of u; and each v's total, which should be 1."""
    n = len(descents)
    ancestors = np.zeros((n, n))
    total = np.zeros(n)
    run_chunked(lambda start, stop: _add_descents(descents, ancestors, total, start, stop), n)
    return ancestors, total


@kernel
def _add_descents(descents, ancestors, total, start, stop):
    """Add up the probabilities of the sets of non-descendants."""
    n = descents.shape[0]
    for node in range(start, stop):
        for rest in range(descents.shape[1]):
            probability = descents[node, rest]
            if probability > NEGLIGIBLE_PROBABILITY:
                total[node] += probability
                before = insert_bit(rest, node)
                for u in range(n):
                    if u != node and not before >> u & 1:
                        ancestors[node, u] += probability


def _parent_sets(
    scores: Floats, weights: Scaled, descents: Floats
) -> tuple[Floats, Floats, Floats]:
    """log P(pa(v) = S); [u, v]: probability of the edge u -> v; each child's total, should be 1.

    The first overwrites ``descents``, the largest array that is no longer needed.
    """
    n = len(scores)
    edges = np.zeros((n, n))
    total = np.zeros(n)

    def work(start: int, stop: int) -> None:
        for child in range(start, stop):
            sets = descents[child]
            np.divide(sets, weights.mantissa[child], out=sets, where=sets > 0.0)
            sum_over_larger(sets, weights.exponent[child])
            _add_parents(child, sets, scores[child], weights.exponent[child], edges, total)

    run_chunked(work, n)
    return descents, edges, total


@kernel
def _add_parents(child, sets, scores, exponent, edges, total):
    """From the sum over all P with S, times 2^exponent, to the log probability of S."""
    n = edges.shape[0]
    for rest in range(sets.size):
        if sets[rest] == 0.0:
            sets[rest] = -np.inf
            continue
        sets[rest] = min(0.0, np.log(sets[rest]) + log_mantissa(scores[rest], exponent[rest]))
        probability = np.exp(sets[rest])
        if probability > NEGLIGIBLE_PROBABILITY:
            total[child] += probability
            mask = insert_bit(rest, child)
            for u in range(n):
                if mask >> u & 1:
                    edges[u, child] += probability
