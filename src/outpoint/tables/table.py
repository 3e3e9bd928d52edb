"""ScoreTable: all that an engine ever sees of the data."""

from collections.abc import Iterable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from outpoint.errors import OptionError
from outpoint.tables.dense import containing_log_sums, subset_log_sums, subset_maxima
from outpoint.tables.outside import OutsideSets
from outpoint.tables.parent_sets import Codes, ParentSets
from outpoint.tables.ranked import RankedMasks, rank_dense


class ScoreTable:
    """Scores of all admissible families, ready for sums, maxima and draws over parent sets.

    ``candidates[v]`` are the candidate parents of node v and ``dense[v, mask]`` the scores of
    their subsets; all other admissible sets are in ``outside``, but for some that have at most
    ``lost_mass`` of the posterior together. The derived tables are computed
    when first asked for, and every array is read-only.
    """

    def __init__(
        self,
        names: tuple[str, ...],
        max_parents: int,
        candidates: NDArray[np.int32],
        dense: NDArray[np.float64],
        outside: OutsideSets,
        lost_mass: float = 0.0,
    ) -> None:
        self.names = names
        self.max_parents = max_parents
        self.lost_mass = lost_mass
        self.candidates = _read_only(candidates)
        self.dense = _read_only(dense)
        self.outside = outside

    def __repr__(self) -> str:
        return (
            f"ScoreTable({self.n_nodes} nodes, max_parents={self.max_parents}, "
            f"{self.candidates.shape[1]} candidates each, {len(self.outside.score)} outside sets)"
        )

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self.names)

    @property
    def is_complete(self) -> bool:
        """Whether every other node is a candidate, so that there are no outside sets."""
        return self.candidates.shape[1] == self.n_nodes - 1

    @property
    def parent_sets(self) -> ParentSets:
        """What the codes of parent sets stand for."""
        return ParentSets(self.candidates, self.outside.members)

    def codes_of(self, adjacency: NDArray[np.bool_]) -> Codes:
        """The parent sets of a DAG [parent, child]; refuses sets that are not in the table."""
        codes = np.zeros(self.n_nodes, dtype=np.int32)
        for child in range(self.n_nodes):
            parents = np.flatnonzero(adjacency[:, child])
            places = np.searchsorted(self.candidates[child], parents)
            places = np.minimum(places, self.candidates.shape[1] - 1)
            if np.array_equal(self.candidates[child, places], parents):
                codes[child] = int((1 << places.astype(np.int64)).sum())
            else:
                place = self._outside_place(child, parents)
                if place is None:
                    raise OptionError(
                        f"the start DAG gives {self.names[child]} parents that are not in the "
                        "table: choose another start."
                    )
                codes[child] = ~place
        return codes

    def fitted(self, adjacency: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """A DAG whose sets that are not in the table have lost their members outside."""
        out = adjacency.copy()
        for child in range(self.n_nodes):
            parents = np.flatnonzero(adjacency[:, child])
            outer = np.setdiff1d(parents, self.candidates[child])
            if len(outer) and self._outside_place(child, parents) is None:
                out[outer, child] = False
        return out

    def _outside_place(self, child: int, parents: NDArray[np.int64]) -> int | None:
        """The place of a set among the outside sets, if it is there."""
        start, stop = self.outside.start[child : child + 2]
        width = self.outside.members.shape[1]
        padded = np.full(max(width, len(parents)), -1)
        padded[: len(parents)] = parents
        found = np.flatnonzero((self.outside.members[start:stop] == padded[:width]).all(axis=1))
        return int(start + found[0]) if len(parents) <= width and len(found) else None

    @cached_property
    def log_sums(self) -> NDArray[np.float64]:
        """Log sums of scores over the subsets of every mask of candidates."""
        return _read_only(subset_log_sums(self.dense))

    @cached_property
    def maxima(self) -> NDArray[np.float64]:
        """Maxima of scores over the subsets of every mask of candidates."""
        return _read_only(subset_maxima(self.dense))

    @cached_property
    def omega(self) -> NDArray[np.float64]:
        """Log sums over the subsets that contain a given candidate."""
        return _read_only(containing_log_sums(self.dense))

    @cached_property
    def ranked(self) -> RankedMasks:
        """The candidate subsets of every node, best first."""
        return rank_dense(self.dense)

    def log_score(self, child: int, parents: Iterable[int]) -> float:
        """Score of one family, -inf if it is not admissible."""
        wanted = sorted(set(parents))
        position = {int(u): i for i, u in enumerate(self.candidates[child])}
        if all(u in position for u in wanted):
            return float(self.dense[child, sum(1 << position[u] for u in wanted)])
        start, stop = self.outside.start[child : child + 2]
        padded = wanted + [-1] * (self.outside.members.shape[1] - len(wanted))
        if len(padded) != self.outside.members.shape[1]:
            return -np.inf
        found = np.flatnonzero((self.outside.members[start:stop] == padded).all(axis=1))
        return float(self.outside.score[start + found[0]]) if len(found) else -np.inf


def _read_only(array):
    array.flags.writeable = False
    return array
