"""Leaving out parent sets that cannot matter, with a bound on what is lost.

If T is a proper subset of S, a DAG in which v has the parents S stays a DAG with T in their place,
so P(Pa_v = S) <= r P(Pa_v = T) with r = exp(s(v, S) - s(v, T)). Leaving out sets whose best subset
T gives a small r loses at most

    sum over v of the largest, over T, sum of r over the sets left out because of T

of the posterior. Formulas: docs/math.md#pruning-with-a-certificate.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from outpoint.kernels import kernel
from outpoint.scores.families import (
    Members,
    Scores,
    binomial_table,
    family_rank,
    size_offsets,
    subsets_of_size,
)

THRESHOLDS = tuple(10.0**-k for k in range(4, 13))
"""Values of r up to which sets may be left out; the largest with a small enough loss is taken."""

MOST_LOST = 1e-3
"""What may be lost of the posterior, all nodes together."""


class Pruned(NamedTuple):
    """Which sets to keep, and the bound on what the others had."""

    keep: NDArray[np.bool_]
    lost: float


def prune(log_ratio: Scores, subset: NDArray[np.int64], most_lost: float) -> Pruned:
    """Decide about sets of one node, given log r of each and which subset it was compared with.

    If nothing may be lost, all are kept; if everything may (1), only those that score better than
    all their subsets, which is all that a best DAG can have.
    """
    if most_lost <= 0.0:
        return Pruned(np.ones(len(log_ratio), dtype=np.bool_), 0.0)
    if most_lost >= 1.0:
        return Pruned(log_ratio > 0.0, 1.0)
    ratio = np.exp(np.minimum(log_ratio, 0.0))
    for threshold in THRESHOLDS:
        keep = log_ratio > np.log(threshold)
        lost = _largest_sum(np.where(keep, 0.0, ratio), subset)
        if lost <= most_lost:
            return Pruned(keep, lost)
    return Pruned(np.ones(len(ratio), dtype=np.bool_), 0.0)


def _largest_sum(values: Scores, groups: NDArray[np.int64]) -> float:
    return float(np.bincount(groups, weights=values).max()) if len(values) else 0.0


class SetsByRank(NamedTuple):
    """All sets of at most ``size`` of the nodes that a node may have as parents, by size and rank.

    Members are numbered without the node itself; short rows are padded with -1.
    """

    members: Members
    sizes: NDArray[np.int64]
    n_others: int
    size: int

    @classmethod
    def up_to(cls, n_others: int, size: int) -> "SetsByRank":
        """Sets of up to ``size`` of ``n_others`` nodes."""
        parts = [padded(subsets_of_size(n_others, k), max(size, 1)) for k in range(size + 1)]
        members = np.concatenate(parts)
        return cls(members, (members >= 0).sum(axis=1), n_others, size)

    def members_for(self, child: int) -> Members:
        """The sets by the numbers of their nodes, as sets of parents of ``child``."""
        return np.where(self.members >= child, self.members + 1, self.members).astype(np.int16)

    def best_subsets(
        self, child: int, scores: Scores, parents: Members
    ) -> tuple[Scores, NDArray[np.int64]]:
        """For every set, the score and the place of its best proper subset."""
        best = np.empty(len(scores))
        which = np.empty(len(scores), dtype=np.int64)
        _find_best_subsets(
            child,
            scores,
            parents,
            self.sizes,
            binomial_table(self.n_others + 1, self.size + 1),
            size_offsets(self.n_others, self.size),
            best,
            which,
        )
        return best, which


def padded(sets: Members, width: int) -> Members:
    """Sets as rows of this width, filled up with -1."""
    out = np.full((len(sets), width), -1, dtype=np.int16)
    out[:, : sets.shape[1]] = sets
    return out


@kernel
def _find_best_subsets(child, scores, parents, sizes, binomials, offsets, best, which):
    """For every scored set of one node, the score and the place of its best proper subset.

    ``parents[i, :sizes[i]]`` are its members, ascending; sets stand in order of size, so that the
    subsets of a set are done before it. The empty set has none (-inf, -1).
    """
    rest = np.empty(parents.shape[1], dtype=np.int64)
    for i in range(scores.size):
        best[i] = -np.inf
        which[i] = -1
        size = sizes[i]
        for skipped in range(size):
            for k in range(size - 1):
                rest[k] = parents[i, k if k < skipped else k + 1]
            place = family_rank(child, rest, size - 1, binomials, offsets)
            if which[i] < 0 or scores[place] > best[i]:
                best[i], which[i] = scores[place], place
            if which[place] >= 0 and best[place] > best[i]:
                best[i], which[i] = best[place], which[place]


def log_ratios(scores: Scores, best: Scores) -> Scores:
    """log r; infinite, so that a set is kept, where it has no admissible subset."""
    with np.errstate(invalid="ignore"):
        return np.where(best > -np.inf, scores - best, np.inf)
