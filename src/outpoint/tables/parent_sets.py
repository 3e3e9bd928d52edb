"""Parent sets by their codes: a mask over candidates, or ``~place`` in a list of outside sets."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from outpoint.errors import require

Codes = NDArray[np.int32]

MOST_CANDIDATES = 31
"""A mask over candidates is a positive number of 32 bits."""


class ParentSets(NamedTuple):
    """What codes stand for: candidates of each node, members of outside sets (padded with -1)."""

    candidates: NDArray[np.int32]
    members: NDArray[np.int16]

    def members_of(self, child: int, code: int) -> tuple[int, ...]:
        """The members of one set."""
        if code < 0:
            return tuple(int(u) for u in self.members[~code] if u >= 0)
        return tuple(int(u) for i, u in enumerate(self.candidates[child]) if code >> i & 1)

    def adjacencies(self, codes: Codes) -> NDArray[np.bool_]:
        """Matrices [parent, child] of the DAGs with these codes (draw, node)."""
        n, n_candidates = self.candidates.shape
        out = np.zeros((len(codes), n, n), dtype=np.bool_)
        places = np.arange(n_candidates, dtype=np.int32)
        for child in range(n):
            own = codes[:, child]
            inside = np.where(own >= 0, own, 0)
            out[:, self.candidates[child], child] = (inside[:, None] >> places & 1).astype(np.bool_)
            for draw in np.flatnonzero(own < 0).tolist():
                out[draw, list(self.members_of(child, int(own[draw]))), child] = True
        return out

    def count_members(self, codes: Codes) -> NDArray[np.int64]:
        """Number of members of each set."""
        outside = codes < 0
        counts = np.bitwise_count(np.where(outside, 0, codes)).astype(np.int64)
        if outside.any():
            counts[outside] = (self.members >= 0).sum(axis=1)[~codes[outside]]
        return counts

    def restricted_to(self, codes: Sequence[Codes]) -> tuple["ParentSets", list[Codes]]:
        """Only the outside sets that occur in ``codes``, and the codes renumbered for that."""
        used = [np.unique(~part[part < 0]) for part in codes]
        kept = np.unique(np.concatenate(used)) if used else np.zeros(0, dtype=np.int32)
        number = np.zeros(len(self.members) + 1, dtype=np.int32)
        number[kept] = np.arange(len(kept))
        renumbered = [
            np.where(part < 0, ~number[~np.where(part < 0, part, -1)], part).astype(np.int32)
            for part in codes
        ]
        return ParentSets(self.candidates, self.members[kept]), renumbered


def check_lists(candidates: NDArray[np.int32]) -> None:
    """For each node some others, in ascending order."""
    n, n_candidates = candidates.shape
    require(1 <= n_candidates <= min(n - 1, MOST_CANDIDATES), "a node has too many candidates")
    require((np.diff(candidates, axis=1) > 0).all(), "candidates are not distinct and in order")
    require((candidates != np.arange(n)[:, None]).all(), "a node is its own candidate")
    require(candidates.min() >= 0 and candidates.max() < n, "a candidate is no node")
