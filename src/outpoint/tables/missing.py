"""What a table lacks, estimated from draws: parent sets that were never admitted.

Of the sets that are too large to be all scored, a table lists those with at most one member outside
the candidates. Those with two or more are not in it, and no chain can meet them. How much of the
posterior they would have is estimated by looking around the draws. Let T be such a set of node v,
and A(T) the sets of the table that it becomes by losing a member, or by exchanging one from outside
for a candidate; and, if that leaves a set of candidates that is among the most frequent of v, by
losing two members outside. Whatever the other nodes have for parents, T has

    w(T) / (sum of w over those of A(T) that make no cycle)

of what these have together, so that the average over draws of the sum of this ratio, over the T
around the parent set that v has in the draw, is the mass of all T with a neighbour in the table,
relative to that of the table. Sets that are further away are not seen; they are fewer where those
are few.

There are millions of neighbours to look up. Every node therefore has a random key of 64 bits, and a
set the exclusive or of those of its members: the key of a neighbour follows from that of the set.
"""

from math import comb
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from outpoint.arrays import Booleans, Floats
from outpoint.scores import FamilyScorer, StructurePrior
from outpoint.scores.base import Members
from outpoint.tables.parent_sets import Codes, descendants
from outpoint.tables.pruning import padded
from outpoint.tables.table import ScoreTable

MOST_LOOKS, ALL_LOOKS = 48, 9600
"""Most draws with an outside set whose surroundings are looked at: of one node, and of all nodes
together; every node has some."""

FAINT = -14.0
"""Least log weight, relative to the set in the draw, at which a set is counted."""

ALL_OF_IT = 100.0
"""Log of a ratio above which a set has all of the posterior, whatever the ratio is."""

MOST_AROUND = 256
"""Most sets around one draw that are counted; these are the best ones."""

MOST_INNER = 8
"""Most sets of candidates of a node, the most frequent ones, around which pairs from outside are
looked at: two parents that are of use only together are found here, as neither is drawn alone."""

MOST_PAIRS = 4_000_000
"""Most such pairs of all nodes together."""

INNER_LOOKS = 8
"""Draws of each of them in which it is asked what would make a cycle."""

Keys = NDArray[np.uint64]


class Missing(NamedTuple):
    """For every node the share of the posterior in sets that the table lacks, and in its edges.

    ``edges[u, v]`` is the share of those sets of v that have u as a member.
    """

    mass: Floats
    edges: Floats

    @classmethod
    def none(cls, n_nodes: int) -> "Missing":
        """What a table lacks that has all sets: nothing."""
        return cls(np.zeros(n_nodes), np.zeros((n_nodes, n_nodes)))

    def changes(self, edges: Floats) -> Floats:
        """How much the edge into each node that these sets would change most would change.

        ``edges`` are the probabilities [parent, child] without them.
        """
        found: Floats = np.abs(self.edges - self.mass * edges).max(axis=0)
        return found


def estimate_missing(
    table: ScoreTable,
    scored_parents: int,
    scorer: FamilyScorer,
    prior: StructurePrior,
    codes: Codes,
) -> Missing:
    """The mass of sets next to the table, from draws (draw, node) of a chain that runs on it."""
    n = table.n_nodes
    found = Missing.none(n)
    if scored_parents >= table.max_parents:
        return found
    most = max(2, min(MOST_LOOKS, ALL_LOOKS // n))
    keys = np.random.default_rng(n).integers(2**64, size=n + 1, dtype=np.uint64)
    keys[-1] = 0
    sizes = (table.outside.members >= 0).sum(axis=1)
    for child in range(n):
        own = codes[:, child]
        held = np.flatnonzero(own < 0)
        held = held[sizes[~own[held]] >= scored_parents]
        around = _Surroundings(table, child, scored_parents, scorer, prior, keys)
        groups = [(held, most)] if len(held) else []
        groups += [(np.flatnonzero(own == mask), INNER_LOOKS) for mask in around.inner_masks(own)]
        added = np.zeros(n + 1)
        for group, most_looks in groups:
            looks = _evenly(group, most_looks)
            share = len(group) / len(looks) / len(codes)
            below = descendants(codes[looks], table.parent_sets, child)
            added += share * around.weigh(own[looks], below)
        found.edges[:, child], found.mass[child] = added[:-1], added[-1]
    return Missing(found.mass / (1.0 + found.mass), found.edges / (1.0 + found.mass))


def _evenly(places: NDArray[np.intp], most: int) -> NDArray[np.intp]:
    """As many of the places as wanted, evenly spread."""
    return places[np.linspace(0, len(places) - 1, min(len(places), most)).astype(np.int64)]


class _Surroundings:
    """Sets of one node that the table lacks, and their neighbours in the table.

    ``keys`` has one more entry, 0, for the padding of sets.
    """

    def __init__(
        self,
        table: ScoreTable,
        child: int,
        scored_parents: int,
        scorer: FamilyScorer,
        prior: StructurePrior,
        keys: Keys,
    ) -> None:
        self._child = child
        self._candidates = table.candidates_of(child)
        self._is_outer = np.ones(table.n_nodes + 1, dtype=np.bool_)
        self._is_outer[[*self._candidates, -1]] = False
        self._scored_parents = scored_parents
        self._max_parents = table.max_parents
        self._scorer, self._prior = scorer, prior
        self._keys = keys
        listed = slice(*table.outside.start[child : child + 2])
        self._outside = table.outside
        self._inside_scores = table.dense[child]
        self._looked_at = np.zeros(len(self._inside_scores), dtype=np.bool_)
        self._bits = np.zeros(table.n_nodes + 1, dtype=np.int64)
        self._bits[self._candidates] = 1 << np.arange(len(self._candidates))
        unsorted = self._keys_of(table.outside.members[listed])
        ranked = np.argsort(unsorted)
        self._listed, self._log_scores = unsorted[ranked], table.outside.score[listed][ranked]

    def weigh(self, codes: Codes, below: Booleans) -> Floats:
        """What the sets around these draws add to the estimate.

        For every node it is what those with it as a member add, and last what all add together.
        ``codes`` are the sets of the draws, and ``below`` what would make a cycle.
        """
        added = np.zeros(below.shape[1] + 1)
        for code in np.unique(codes):
            sets, log_scores = self._worth_counting(int(code))
            log_smaller, log_exchanged = self._weigh_neighbours(sets)
            for closed in below[codes == code]:
                closed = np.append(closed, False)
                fitting = np.where(closed[self._candidates], -np.inf, log_exchanged)
                log_sum = np.logaddexp(log_smaller, np.logaddexp.reduce(fitting, axis=1))
                log_ratio = np.minimum(log_scores - log_sum, ALL_OF_IT)
                ratio = np.where(closed[sets].any(axis=1), 0.0, np.exp(log_ratio))
                added[-1] += ratio.sum()
                np.add.at(added, sets[sets >= 0], np.repeat(ratio, (sets >= 0).sum(axis=1)))
        return added

    def inner_masks(self, codes: Codes) -> NDArray[np.int32]:
        """The most frequent sets of candidates that lacking sets become by losing two members.

        They count as neighbours of these from now on.
        """
        n_pairs = comb(int(self._is_outer[:-1].sum()) - 1, 2)
        most = min(MOST_INNER, MOST_PAIRS // max(1, len(self._is_outer) * n_pairs))
        sizes = np.bitwise_count(np.maximum(codes, 0))
        is_inner = (codes >= 0) & (sizes + 1 >= self._scored_parents)
        is_inner &= sizes + 2 <= self._max_parents
        masks, counts = np.unique(codes[is_inner], return_counts=True)
        frequent: NDArray[np.int32] = masks[np.argsort(-counts, kind="stable")[:most]]
        self._looked_at[frequent] = True
        return frequent

    def _worth_counting(self, code: int) -> tuple[Members, Floats]:
        """The sets that the table lacks around one that it has, as far as they matter; scored."""
        is_free = np.ones(len(self._is_outer) - 1, dtype=np.bool_)
        is_free[self._child] = False
        if code >= 0:
            own = self._candidates[code & self._bits[self._candidates] > 0]
            made = [_with_pairs(own, np.flatnonzero(is_free & self._is_outer[:-1]))]
            log_score = self._inside_scores[code]
        else:
            own = self._outside.members[~code]
            own = own[own >= 0]
            is_free[own] = False
            made = self._around_listed(own, is_free)
            log_score = self._outside.score[~code]
        scores = [
            self._scorer.families(self._child, sets) + self._prior.log_weights(self._child, sets)
            for sets in made
        ]
        together = np.concatenate([padded(sets, self._max_parents) for sets in made])
        log_scores = np.concatenate(scores)
        ranked = np.argsort(-log_scores, kind="stable")[:MOST_AROUND]
        ranked = ranked[log_scores[ranked] > log_score + FAINT]
        return together[ranked], log_scores[ranked]

    def _around_listed(self, own: Members, is_free: Booleans) -> list[Members]:
        """The sets that the table lacks one addition or exchange away from a listed one."""
        made = []
        if len(own) < self._max_parents:
            made.append(_with_each(own, np.flatnonzero(is_free)))
        if len(own) > self._scored_parents:
            gained = np.flatnonzero(is_free & self._is_outer[:-1])
            kept = [own[own != lost] for lost in own[~self._is_outer[own]]]
            made += [np.concatenate([_with_each(rest, gained) for rest in kept])] if kept else []
        return [sets[self._is_outer[sets].sum(axis=1) > 1] for sets in made]

    def _weigh_neighbours(self, sets: Members) -> tuple[Floats, Floats]:
        """Log sums of the sets of the table that become one of these.

        By additions (set), and by an exchange for each candidate (set, candidate).
        """
        key = self._keys_of(sets)
        mask = self._bits[sets].sum(axis=1)
        has_two = self._looked_at[mask] & (self._is_outer[sets].sum(axis=1) == 2)
        log_smaller = np.where(has_two, self._inside_scores[mask], -np.inf)
        log_exchanged = np.full((len(sets), len(self._candidates)), -np.inf)
        for members in sets.T:
            lost = key ^ self._keys[members]
            log_smaller = np.logaddexp(log_smaller, self._log_scores_of(lost))
            outer = np.flatnonzero(self._is_outer[members])
            exchanged = lost[outer, None] ^ self._keys[self._candidates]
            log_exchanged[outer] = np.logaddexp(
                log_exchanged[outer], self._log_scores_of(exchanged)
            )
        log_exchanged[(sets[:, :, None] == self._candidates).any(axis=1)] = -np.inf
        return log_smaller, log_exchanged

    def _keys_of(self, sets: Members) -> Keys:
        keys: Keys = np.bitwise_xor.reduce(self._keys[sets], axis=1)
        return keys

    def _log_scores_of(self, keys: Keys) -> Floats:
        """The scores of the sets with these keys, minus infinity where the table has none."""
        places = np.searchsorted(self._listed, keys)
        places[places == len(self._listed)] = 0
        return np.where(self._listed[places] == keys, self._log_scores[places], -np.inf)


def _with_pairs(own: NDArray[np.integer], gained: NDArray[np.intp]) -> Members:
    """Sets of ``own`` with two of the ``gained`` nodes each."""
    one, other = np.triu_indices(len(gained), 1)
    rows = np.empty((len(one), len(own) + 2), dtype=np.int16)
    rows[:, :-2] = own
    rows[:, -2], rows[:, -1] = gained[one], gained[other]
    return np.sort(rows, axis=1)


def _with_each(own: Members, gained: NDArray[np.intp]) -> Members:
    """Sets of ``own`` with one of the ``gained`` nodes each."""
    rows = np.empty((len(gained), len(own) + 1), dtype=np.int16)
    rows[:, :-1] = own
    rows[:, -1] = gained
    return np.sort(rows, axis=1)
