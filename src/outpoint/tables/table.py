"""ScoreTable: all that an engine ever sees of the data.

It also finds the best set where a table of maxima says how good that is.
"""

from collections.abc import Iterable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from outpoint.errors import OptionError
from outpoint.tables.dense import (
    MaskLists,
    Rows,
    containing_log_sums,
    rank_dense,
    subset_log_sums,
    subset_maxima,
)
from outpoint.tables.outside import OutsideSets
from outpoint.tables.parent_sets import Codes, ParentSets


class ScoreTable:
    """Scores of all admissible families, ready for sums, maxima and draws over parent sets.

    ``candidates[v]`` are the candidate parents of node v, padded with -1, and ``dense[v, mask]``
    the scores of their subsets; all other admissible sets are in ``outside``, but for some that
    have at most ``lost_mass`` of the posterior together. The derived tables are computed when first
    asked for, and every array is read-only.
    """

    def __init__(
        self,
        names: tuple[str, ...],
        max_parents: int,
        candidates: NDArray[np.int32],
        dense: NDArray[np.float64] | Rows,
        outside: OutsideSets,
        lost_mass: float = 0.0,
    ) -> None:
        self.names = names
        self.max_parents = max_parents
        self.lost_mass = lost_mass
        self.candidates = _read_only(candidates)
        self.dense = _read_only_rows(Rows.of(dense))
        self.outside = outside

    def __repr__(self) -> str:
        return (
            f"ScoreTable({self.n_nodes} nodes, max_parents={self.max_parents}, "
            f"up to {self.candidates.shape[1]} candidates, {len(self.outside.score)} outside sets)"
        )

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self.names)

    @property
    def is_complete(self) -> bool:
        """Whether every other node is a candidate, so that there are no outside sets."""
        return not self.parent_sets.are_narrow

    def candidates_of(self, child: int) -> NDArray[np.int32]:
        """The candidates of one node, without padding."""
        own: NDArray[np.int32] = self.candidates[child]
        return own[own >= 0]

    @property
    def parent_sets(self) -> ParentSets:
        """What the codes of parent sets stand for."""
        return ParentSets(self.candidates, self.outside.members)

    def codes_of(self, adjacency: NDArray[np.bool_]) -> Codes:
        """The parent sets of a DAG [parent, child]; refuses sets that are not in the table."""
        codes = np.zeros(self.n_nodes, dtype=np.int32)
        for child in range(self.n_nodes):
            code = self._code_of(child, np.flatnonzero(adjacency[:, child]))
            if code is None:
                raise OptionError(
                    f"the start DAG gives {self.names[child]} parents that are not in the "
                    "table: choose another start."
                )
            codes[child] = code
        return codes

    def fitted(self, adjacency: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """The DAG, in which sets that are not in the table have lost their members outside."""
        out = adjacency.copy()
        for child in range(self.n_nodes):
            parents = np.flatnonzero(adjacency[:, child])
            if self._code_of(child, parents) is None:
                out[np.setdiff1d(parents, self.candidates[child]), child] = False
        return out

    def _code_of(self, child: int, parents: NDArray[np.int64]) -> int | None:
        """The code of a set, its members ascending; None if it is not in the table."""
        candidates = self.candidates_of(child)
        if np.isin(parents, candidates).all():
            return sum(1 << place for place in np.searchsorted(candidates, parents).tolist())
        start, stop = self.outside.start[child : child + 2]
        width = self.outside.members.shape[1]
        padded = np.full(max(width, len(parents)), -1)
        padded[: len(parents)] = parents
        found = np.flatnonzero((self.outside.members[start:stop] == padded[:width]).all(axis=1))
        return ~int(start + found[0]) if len(parents) <= width and len(found) else None

    @cached_property
    def log_sums(self) -> Rows:
        """Log sums of scores over the subsets of every mask of candidates."""
        return _read_only_rows(subset_log_sums(self.dense))

    @cached_property
    def maxima(self) -> Rows:
        """Maxima of scores over the subsets of every mask of candidates."""
        return _read_only_rows(subset_maxima(self.dense))

    @cached_property
    def omega(self) -> Rows:
        """Log sums over the subsets that contain a given candidate."""
        return _read_only_rows(containing_log_sums(self.dense))

    @cached_property
    def ranked(self) -> MaskLists:
        """The candidate subsets of every node, best first."""
        return rank_dense(self.dense)

    def log_score(self, child: int, parents: Iterable[int]) -> float:
        """Score of one family, -inf if it is not admissible."""
        code = self._code_of(child, np.array(sorted(set(parents)), dtype=np.int64))
        if code is None:
            return -np.inf
        return float(self.dense[child, code] if code >= 0 else self.outside.score[~code])


def _read_only_rows(rows):
    _read_only(rows.values)
    _read_only(rows.start)
    return rows


def _read_only(array):
    array.flags.writeable = False
    return array


def tie_tolerance(log_score: float) -> float:
    """Scores this close to each other count as equal: equivalent DAGs differ by rounding."""
    return 1e-10 * (1.0 + abs(log_score))


def best_subset(
    table: ScoreTable, child: int, mask: int, rng: np.random.Generator | None = None
) -> int:
    """Mask of the best parent set of ``child`` among the candidates in ``mask``.

    Candidates are left out one by one while the maximum stays the same. What remains is a smallest
    best set; with ``rng`` it is any of those that tie, at random.
    """
    maxima, scores = table.maxima[child], table.dense[child]
    least = maxima[mask] - (0.0 if rng is None else tie_tolerance(maxima[mask]))
    n_candidates = len(table.candidates_of(child))
    places = np.arange(n_candidates) if rng is None else rng.permutation(n_candidates)
    for i in places.tolist():
        if rng is not None and scores[mask] >= least and rng.random() < 0.5:
            break
        if mask >> i & 1 and maxima[mask ^ (1 << i)] >= least:
            mask ^= 1 << i
    return mask
