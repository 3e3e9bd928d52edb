"""Which parent sets are left out, with a bound on what is lost, and which parents are candidates.

If T is a proper subset of S, a DAG in which v has the parents S stays a DAG with T in their place,
so P(Pa_v = S) <= r P(Pa_v = T) with r = exp(s(v, S) - s(v, T)). Leaving out sets whose best subset
T gives a small r loses at most

    sum over v of the largest, over T, sum of r over the sets left out because of T

of the posterior. Formulas: docs/math.md#pruning-with-a-certificate.

The candidate parents of a node are those whose subsets get a dense table. Sets that leave the
candidates stay in the posterior as outside sets, so the choice decides how fast chains mix, not
what they sample; only of the largest sets, which are not all scored, it decides which ones there
are (see :mod:`outpoint.tables.outside`). First come parents that are needed: u is needed for v in S
if s(v, S) exceeds the score of every proper subset of S, and ranked by the best such S. (Ranking by
the sum of exp s(v, S) over all sets with u fails: the best set brings in every irrelevant
companion.) The others follow by what they add: the largest gain, s(v, S + u) - s(v, S), over sets S
of at most two nodes that were chosen before. Choices are mutual where there is room: an edge whose
direction is open needs both.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from outpoint.kernels import inlined, kernel, run_chunked
from outpoint.scores.base import (
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
"""The most that may be lost of the posterior, all nodes together."""


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


Candidates = NDArray[np.int32]

TIE = 1e-9
"""Scores closer than this are equal."""


def choose_candidates(
    families: Scores,
    scored_parents: int,
    needed: Scores,
    n_candidates: int | NDArray[np.int64],
    required: NDArray[np.bool_],
    preferred: NDArray[np.float64] | None = None,
) -> Candidates:
    """The ``n_candidates`` best parents of each node, ascending; short rows are padded with -1.

    Required parents come first, then those with a positive entry [parent, child] of
    ``preferred``, the largest first, then those that are ``needed`` (see :func:`rank_needed`), then
    those with the largest gains.
    """
    n = len(families)
    numbers = np.broadcast_to(np.asarray(n_candidates, dtype=np.int64), (n,))
    if numbers.min() == n - 1:
        return np.array([np.delete(np.arange(n), child) for child in range(n)], dtype=np.int32)
    wish = np.zeros((n, n)) if preferred is None else np.array(preferred, dtype=np.float64)
    np.fill_diagonal(wish, 0.0)
    wish[required] = np.inf
    order = np.lexsort((-needed, -wish), axis=0).T
    n_given = np.minimum((wish > 0).sum(axis=0), numbers)
    most = int(numbers.max())
    n_ordered = ((wish > 0) | (needed > -np.inf)).sum(axis=0)
    ranks = np.empty((n, n))
    binomials = binomial_table(n, scored_parents + 1)
    offsets = size_offsets(n - 1, scored_parents)
    run_chunked(
        lambda start, stop: _rank(
            families, binomials, offsets, order, n_ordered, most, ranks, start, stop
        ),
        n,
    )
    return _mutual_choice(ranks, n_given, numbers)


def rank_needed(families: Scores, scored_parents: int) -> Scores:
    """``[u, v]``: the score of the best set of v in which u is needed; -inf if there is none."""
    n = len(families)
    needed = np.full((n, n), -np.inf)
    sets = SetsByRank.up_to(n - 1, scored_parents)

    def work(begin: int, end: int) -> None:
        for child in range(begin, end):
            parents = sets.members_for(child)
            best, _ = sets.best_subsets(child, families[child], parents)
            is_needed = np.flatnonzero(families[child] > best + TIE)
            for column in parents[is_needed].T:
                there = column >= 0
                np.maximum.at(needed[:, child], column[there], families[child, is_needed][there])

    run_chunked(work, n)
    return needed


@kernel
def _rank(families, binomials, offsets, order, n_ordered, n_candidates, ranks, start, stop):
    """``ranks[v, u]``: when u was chosen for v (0 first), in the given ``order``, then by gains."""
    n = families.shape[0]
    chosen = np.empty(n, dtype=np.int64)
    gain = np.empty(n)
    for child in range(start, stop):
        for u in range(n):
            ranks[child, u] = np.inf
            gain[u] = -np.inf
            if u != child:
                gain[u] = _gain(families, binomials, offsets, child, u, -1, -1)
        for place in range(n - 1):
            if place < n_ordered[child]:
                best = order[child, place]
            elif place < 2 * n_candidates:
                best = -1
                for u in range(n):
                    is_free = u != child and ranks[child, u] == np.inf
                    if is_free and (best < 0 or gain[u] > gain[best]):
                        best = u
            else:
                break
            ranks[child, best] = place
            chosen[place] = best
            if place >= n_candidates:
                continue
            for u in range(n):
                if u != child and ranks[child, u] == np.inf:
                    found = _gain(families, binomials, offsets, child, u, best, -1)
                    for i in range(place):
                        found = max(
                            found, _gain(families, binomials, offsets, child, u, best, chosen[i])
                        )
                    gain[u] = max(gain[u], found)


@inlined
def _gain(families, binomials, offsets, child, u, first, second):
    """s(v, S + u) - s(v, S) for S of up to two nodes (-1: none); -inf if it was not scored."""
    members = np.empty(3, dtype=np.int64)
    size = 0
    for node in (first, second):
        if node >= 0:
            members[size] = node
            size += 1
    if size + 1 > offsets.size - 2:
        return -np.inf
    _sort(members, size)
    without = families[child, family_rank(child, members, size, binomials, offsets)]
    members[size] = u
    _sort(members, size + 1)
    with_u = families[child, family_rank(child, members, size + 1, binomials, offsets)]
    if with_u == -np.inf:
        return -np.inf
    return with_u - without if without > -np.inf else np.inf


@inlined
def _sort(members, size):
    for i in range(1, size):
        k = i
        while k > 0 and members[k - 1] > members[k]:
            members[k - 1], members[k] = members[k], members[k - 1]
            k -= 1


def _mutual_choice(
    ranks: NDArray[np.float64], n_given: NDArray[np.int64], numbers: NDArray[np.int64]
) -> Candidates:
    """Candidates from the ranks [child, parent]: given ones, then pairs, then each node's own."""
    n = len(ranks)
    chosen = ranks < n_given[:, None]
    pairs = np.argwhere(np.triu(np.isfinite(np.minimum(ranks, ranks.T)), 1))
    closeness = np.minimum(ranks, ranks.T)[pairs[:, 0], pairs[:, 1]]
    for u, v in pairs[np.argsort(closeness, kind="stable")].tolist():
        fits_both = all(chosen[a, b] or chosen[a].sum() < numbers[a] for a, b in ((u, v), (v, u)))
        if fits_both:
            chosen[u, v] = chosen[v, u] = True
    out = np.full((n, numbers.max()), -1, dtype=np.int32)
    for child, number in enumerate(numbers.tolist()):
        own_ranks = np.where(np.isfinite(ranks[child]), ranks[child], n)
        own_ranks[child] = np.inf
        ranked = np.lexsort((own_ranks, ~chosen[child]))
        out[child, :number] = np.sort(ranked[:number])
    return out
