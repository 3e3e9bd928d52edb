"""What a table lacks, estimated from draws: parent sets that were never admitted.

Of the sets that are too large to be all scored, a table lists those with at most one member outside
the candidates. Those with two or more are not in it, and no chain can meet them. How much of the
posterior they would have is estimated by looking around the draws. Let T be such a set of node v,
and A(T) the sets of the table that it becomes by losing a member, or by exchanging one from outside
for a candidate. Whatever the other nodes have for parents, T has

    w(T) / (sum of w over those of A(T) that make no cycle)

of what these have together, so that the average over draws of the sum of this ratio, over the T
around the parent set that v has in the draw, is the mass of all T with a neighbour in the table,
relative to that of the table. Sets that are further away are not seen; they are fewer where those
are few.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from outpoint.scores import FamilyScorer, StructurePrior
from outpoint.tables.parent_sets import Codes
from outpoint.tables.table import ScoreTable

MOST_LOOKS, ALL_LOOKS = 48, 9600
"""Draws of one node, of those with an outside set, whose surroundings are looked at; and of all
nodes together, of which every node has some."""

FAINT = -14.0
"""Log weight, relative to the set in the draw, from which on a set is counted."""

MOST_AROUND = 256
"""Sets around one draw that are counted, the best ones."""

Set = tuple[int, ...]


class Missing(NamedTuple):
    """For every node the share of the posterior in sets that the table lacks, and in its edges.

    ``edges[u, v]`` is the share of those sets of v that have u as a member.
    """

    mass: NDArray[np.float64]
    edges: NDArray[np.float64]


def estimate_missing(
    table: ScoreTable,
    scored_parents: int,
    scorer: FamilyScorer,
    prior: StructurePrior,
    codes: Codes,
) -> Missing:
    """The mass of sets next to the table, from draws (draw, node) of a chain that runs on it."""
    n = table.n_nodes
    found = Missing(np.zeros(n), np.zeros((n, n)))
    if scored_parents >= table.max_parents:
        return found
    most = max(2, min(MOST_LOOKS, ALL_LOOKS // n))
    for child in range(n):
        held = np.flatnonzero(codes[:, child] < 0)
        sets = table.parent_sets
        sizes = np.array([len(sets.members_of(child, code)) for code in codes[held, child]])
        held = held[sizes >= scored_parents] if len(held) else held
        looks = held[np.linspace(0, len(held) - 1, min(len(held), most)).astype(np.int64)]
        if not len(looks):
            continue
        around = _Surroundings(table, child, scored_parents, scorer, prior)
        share = len(held) / len(looks) / len(codes)
        for dag in sets.adjacencies(codes[looks]):
            ratios = around.weigh(tuple(np.flatnonzero(dag[:, child]).tolist()), _below(dag, child))
            for members, ratio in ratios.items():
                found.mass[child] += share * ratio
                found.edges[list(members), child] += share * ratio
    return Missing(found.mass / (1.0 + found.mass), found.edges / (1.0 + found.mass))


def _below(dag: NDArray[np.bool_], child: int) -> set[int]:
    """The descendants of a node, and the node itself."""
    below, waiting = {child}, [child]
    while waiting:
        for u in np.flatnonzero(dag[waiting.pop()]).tolist():
            if u not in below:
                below.add(u)
                waiting.append(u)
    return below


class _Surroundings:
    """Sets of one node that the table lacks, and their neighbours in the table."""

    def __init__(
        self,
        table: ScoreTable,
        child: int,
        scored_parents: int,
        scorer: FamilyScorer,
        prior: StructurePrior,
    ) -> None:
        self._child = child
        self._candidates = set(table.candidates_of(child).tolist())
        self._others = set(range(table.n_nodes)) - {child}
        self._scored_parents = scored_parents
        self._max_parents = table.max_parents
        self._scorer, self._prior = scorer, prior
        start, stop = table.outside.start[child : child + 2]
        self._width = table.outside.members.shape[1]
        self._listed = {row.tobytes() for row in table.outside.members[start:stop]}
        self._known: dict[Set, float] = {}
        self._around: dict[Set, list[Set]] = {}
        self._next_to: dict[Set, list[Set]] = {}

    def weigh(self, own: Set, below: set[int]) -> dict[Set, float]:
        """The sets around ``own`` that make no cycle, with what each adds to the estimate."""
        out = {}
        if own not in self._around:
            self._around[own] = self._worth_counting(own)
        for members in self._around[own]:
            if below.isdisjoint(members):
                if members not in self._next_to:
                    self._next_to[members] = self._neighbours(members)
                fitting = [s for s in self._next_to[members] if below.isdisjoint(s)]
                log_sum = np.logaddexp.reduce([self._known[s] for s in fitting])
                out[members] = float(np.exp(self._known[members] - log_sum))
        return out

    def _n_outside(self, members: Set) -> int:
        return sum(u not in self._candidates for u in members)

    def _is_lacking(self, members: Set) -> bool:
        return len(members) > self._scored_parents and self._n_outside(members) > 1

    def _worth_counting(self, own: Set) -> list[Set]:
        """The sets that the table lacks one addition or exchange away, as far as they matter."""
        free = self._others.difference(own)
        made = []
        if len(own) < self._max_parents:
            made += [_exchanged(own, None, u) for u in free]
        made += [
            _exchanged(own, c, u)
            for c in self._candidates.intersection(own)
            for u in free - self._candidates
        ]
        lacking = [members for members in made if self._is_lacking(members)]
        self._score([own, *lacking])
        ranked = sorted(lacking, key=self._known.__getitem__, reverse=True)
        least = self._known[own] + FAINT
        return [members for members in ranked[:MOST_AROUND] if self._known[members] > least]

    def _neighbours(self, members: Set) -> list[Set]:
        """The sets of the table that become ``members`` by an addition or an exchange."""
        outer = [u for u in members if u not in self._candidates]
        made = [_exchanged(members, u, None) for u in members]
        made += [_exchanged(members, u, c) for u in outer for c in self._candidates - set(members)]
        listed = [s for s in made if self._is_listed(s)]
        self._score(listed)
        return listed

    def _is_listed(self, members: Set) -> bool:
        """Whether the table has this set, which may also have been pruned from it."""
        row = np.full(self._width, -1, dtype=np.int16)
        if len(members) > self._width:
            return False
        row[: len(members)] = members
        return row.tobytes() in self._listed

    def _score(self, sets: list[Set]) -> None:
        """Score sets that have not been scored yet, those of one size together."""
        new = [members for members in dict.fromkeys(sets) if members not in self._known]
        for size in {len(members) for members in new}:
            same = [members for members in new if len(members) == size]
            rows = np.array(same, dtype=np.int16)
            scores = self._scorer.families(self._child, rows)
            scores = scores + self._prior.log_weights(self._child, rows)
            self._known.update(zip(same, scores.tolist(), strict=True))


def _exchanged(members: Set, lost: int | None, gained: int | None) -> Set:
    """A set without ``lost`` and with ``gained``, if these are given."""
    kept = [u for u in members if u != lost]
    return tuple(sorted([*kept, gained] if gained is not None else kept))
