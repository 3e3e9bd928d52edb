"""Parent sets that completed tables are sampled without, and what they would have.

Beyond what is solved exactly, every node has some candidates and a limit on how many of them are
its parents together, because the scores of all these sets are needed for every completed table.
What that excludes is not taken for granted: around the DAGs that are drawn, the sets are scored
that are one step away. Let T be an excluded set, and A(T) the listed sets that it becomes by losing
a member, or by exchanging its member from outside for a candidate, as far as they make no cycle.
As in :mod:`outpoint.tables.missing` the mean over draws of

    w(T) / (sum of w over A(T)),

summed over the T around the set that the node has in the draw, is the mass of all T with such a
neighbour, relative to that of all listed sets. The DAG and the table that it was drawn for belong
together, so that this holds for both at once: what is missing need not be drawn for T.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from outpoint.arrays import Booleans, Floats
from outpoint.graphs.blocks import add_ancestors
from outpoint.missing.exclusion import Exclusion
from outpoint.missing.rescoring import CandidateScores
from outpoint.scores import FamilyScorer
from outpoint.tables import ScoreTable
from outpoint.tables.missing import ALL_OF_IT


def look_around(
    scores: CandidateScores,
    table: ScoreTable,
    scorer: FamilyScorer,
    dag: Booleans,
) -> Exclusion:
    """What is excluded around one DAG of a completed table, which ``scorer`` scores."""
    n = table.n_nodes
    found = Exclusion.none(n)
    below = np.zeros((n, n))
    add_ancestors(dag[None], np.ones(1), below)
    for child in range(n):
        is_free = (below[child] == 0) & scores.possible[:, child]
        is_free[child] = False
        around = _Around(scores, table, child, is_free)
        for sets, log_listed in around.excluded(np.flatnonzero(dag[:, child])):
            log_scores = scorer.families(child, sets) + scores.prior.log_weights(child, sets)
            is_finite = log_scores > -np.inf
            gap = np.subtract(log_scores, log_listed, out=log_scores, where=is_finite)
            ratio = np.where(is_finite, np.exp(np.minimum(gap, ALL_OF_IT)), 0.0)
            found.mass[child] += ratio.sum()
            np.add.at(found.edges[:, child], sets, ratio[:, None])
            if sets.shape[1] > scores.limits[child]:
                found.larger[child] += ratio.sum()
    return Exclusion(found.edges, found.mass, found.larger, 1)


class _Around:
    """Excluded sets of one node next to a listed one; ``is_free`` are nodes that make no cycle."""

    def __init__(
        self, scores: CandidateScores, table: ScoreTable, child: int, is_free: Booleans
    ) -> None:
        self._own = table.candidates_of(child)
        self._dense: Floats = table.dense[child]
        self._limit = int(scores.limits[child])
        self._most = scores.max_parents
        self._usable = np.flatnonzero(is_free[self._own])
        is_outer = is_free.copy()
        is_outer[self._own] = False
        self._outer = np.flatnonzero(is_outer)

    def excluded(self, own: NDArray[np.intp]) -> Iterator[tuple[NDArray[np.int16], Floats]]:
        """Excluded sets around ``own``, all of one size, with the log weight of A(T)."""
        code = int((np.int64(1) << np.searchsorted(self._own, own)).sum())
        if len(own) < self._most:
            yield self._from_outside([code])
        smaller = [code ^ 1 << i for i in self._places(code)]
        if smaller:
            yield self._from_outside(smaller)
        if self._limit == len(own) < self._most:
            yield self._too_large(code)

    def _places(self, code: int) -> list[int]:
        return [i for i in range(len(self._own)) if code >> i & 1]

    def _from_outside(self, codes: list[int]) -> tuple[NDArray[np.int16], Floats]:
        """Each of these listed sets with each node from outside."""
        sets, weights = [], []
        for code in codes:
            gained = [self._dense[code | 1 << i] for i in self._usable if not code >> i & 1]
            base = self._own[self._places(code)]
            sets.append(_with_each(base, self._outer))
            listed = np.logaddexp.reduce([self._dense[code], *gained])
            weights.append(np.full(len(self._outer), listed))
        return np.concatenate(sets), np.concatenate(weights)

    def _too_large(self, code: int) -> tuple[NDArray[np.int16], Floats]:
        """A set that is as large as the limit with each other candidate."""
        gained = [int(i) for i in self._usable if not code >> i & 1]
        members = self._places(code)
        sets = _with_each(self._own[members], self._own[gained])
        weights = [
            np.logaddexp.reduce(
                [self._dense[(code | 1 << i) ^ 1 << lost] for lost in [*members, i]]
            )
            for i in gained
        ]
        return sets, np.array(weights, dtype=np.float64)


def _with_each(base: NDArray[np.int32], gained: NDArray[np.integer]) -> NDArray[np.int16]:
    rows = np.empty((len(gained), len(base) + 1), dtype=np.int16)
    rows[:, :-1] = base
    rows[:, -1] = gained
    return np.sort(rows, axis=1)
