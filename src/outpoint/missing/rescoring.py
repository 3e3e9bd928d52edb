"""Score tables over fixed candidates, made again and again for tables that differ in some cells.

A score of a family is F(Pa + v) - F(Pa). The node sets that occur among the candidates' subsets are
listed once; for another completed table F is computed again only for those with a column that has
missing cells.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from outpoint.arrays import Booleans, Floats
from outpoint.scores import FamilyScorer, SetScorer, StructurePrior
from outpoint.scores.base import Members, subsets_of_size
from outpoint.scores.knowledge import GivenScorer
from outpoint.tables import ScoreTable
from outpoint.tables.dense import Rows
from outpoint.tables.outside import no_outside
from outpoint.tables.parent_sets import count_candidates


class _Block(NamedTuple):
    """Families of one child and one size: parents (family, member) and their places."""

    child: int
    parents: Members
    places: NDArray[np.int64]
    together: NDArray[np.int64]
    alone: NDArray[np.int64]


class CandidateScores:
    """The families of candidates' subsets of at most ``limits[v]`` members, prior included.

    There may be ``max_parents``: larger sets than the limit of a node are possible, but not listed.
    ``possible`` [parent, child] are edges that any set can have.
    """

    def __init__(
        self,
        names: tuple[str, ...],
        candidates: NDArray[np.int32],
        prior: StructurePrior,
        max_parents: int,
        limits: NDArray[np.int32],
        has_holes: Booleans,
        first: FamilyScorer,
    ) -> None:
        self._names = names
        self.candidates = candidates
        self.max_parents = max_parents
        self.limits = limits
        self.prior = prior
        self.possible: Booleans = prior.edge_log_weight > -np.inf
        if first.possible_edges is not None:
            self.possible = self.possible & first.possible_edges
        numbers = count_candidates(candidates)
        self._start = np.concatenate([[0], np.cumsum(1 << numbers)]).astype(np.int64)
        self._sets: dict[int, Members] = {}
        self._blocks = self._list_families(numbers)
        self._prior = np.full(self._start[-1], -np.inf)
        for block in self._blocks:
            for parents, place in zip(block.parents, block.places, strict=True):
                self._prior[place] = prior.log_weight(block.child, parents.tolist())
        self._changing = {size: has_holes[sets].any(axis=1) for size, sets in self._sets.items()}
        self._known = [
            {size: one.all_sets(sets) for size, sets in self._sets.items()}
            for one in _distinct(first)
        ]

    def _list_families(self, numbers: NDArray[np.int64]) -> list[_Block]:
        """All families, with the places of their node sets among the sets of one size."""
        blocks: list[tuple[int, Members, NDArray[np.int64]]] = []
        every: dict[int, list[Members]] = {}
        for child, number in enumerate(numbers.tolist()):
            own = self.candidates[child, :number].astype(np.int16)
            for size in range(min(number, int(self.limits[child])) + 1):
                positions = subsets_of_size(number, size).astype(np.int64)
                parents = own[positions]
                masks = (np.int64(1) << positions).sum(axis=1)
                blocks.append((child, parents, self._start[child] + masks))
                every.setdefault(size, []).append(parents)
                every.setdefault(size + 1, []).append(_with(parents, child))
        self._sets = {size: _colex(np.concatenate(sets)) for size, sets in every.items()}
        index = {
            size: {one.tobytes(): i for i, one in enumerate(sets)}
            for size, sets in self._sets.items()
        }

        def find(sets: Members) -> NDArray[np.int64]:
            known = index[sets.shape[1]]
            return np.array([known[one.tobytes()] for one in sets], dtype=np.int64)

        return [
            _Block(child, parents, places, find(_with(parents, child)), find(parents))
            for child, parents, places in blocks
        ]

    def tabulate(self, scorer: FamilyScorer) -> ScoreTable:
        """The table of a completed table, from its scores."""
        values = np.full(self._start[-1], -np.inf)
        found = {
            id(own): self._score_again(own, known)
            for own, known in zip(_distinct(scorer), self._known, strict=True)
        }
        for block in self._blocks:
            own = scorer.of(block.child)
            is_given = isinstance(scorer, GivenScorer) and scorer.given[block.child]
            if is_given or not isinstance(own, SetScorer):
                values[block.places] = scorer.families(block.child, block.parents)
                continue
            size, scores = block.parents.shape[1], found[id(own)]
            values[block.places] = scores[size + 1][block.together] - scores[size][block.alone]
        possible = scorer.possible_edges
        if possible is not None:
            for block in self._blocks:
                is_excluded = ~possible[block.parents, block.child].all(axis=1)
                values[block.places[is_excluded]] = -np.inf
        dense = Rows(values + self._prior, self._start)
        n = len(self._names)
        limit = int(self.limits.max())
        return ScoreTable(self._names, limit, self.candidates, dense, no_outside(n))

    def _score_again(self, scorer: SetScorer, known: dict[int, Floats]) -> dict[int, Floats]:
        """F of all sets by size, computed again only for those with incomplete columns."""
        found = {}
        for size, sets in self._sets.items():
            found[size], changing = known[size].copy(), self._changing[size]
            found[size][changing] = scorer.all_sets(sets[changing])
        return found


def _distinct(scorer: FamilyScorer) -> list[SetScorer]:
    """The scorers of node sets that some child has, in the order of children."""
    every = {id(own): own for own in (scorer.of(v) for v in range(scorer.n_nodes))}
    return [own for own in every.values() if isinstance(own, SetScorer)]


def _with(parents: Members, child: int) -> Members:
    children = np.full(len(parents), child, dtype=np.int16)
    return np.sort(np.column_stack([parents, children]), axis=1)


def _colex(sets: Members) -> Members:
    """Distinct sets, those with the same last members together."""
    distinct = np.unique(sets, axis=0)
    order = np.lexsort(distinct.T) if distinct.shape[1] else np.arange(len(distinct))
    return np.ascontiguousarray(distinct[order])
