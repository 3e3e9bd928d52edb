"""Parent sets by their codes: a mask over candidates, or ``~place`` in a list of outside sets.

Here it is also tested whether graphs that are given by such codes are acyclic.

Posterior files and checkpoints hold graphs like that, thousands at a time. Graphs in other forms
are sorted where they are used: values (`graphs.layers`), one matrix in a kernel (`graphs.blocks`),
and the states of chains, where layers are what is asked for (`mcmc.dag`).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from outpoint.errors import require
from outpoint.kernels import inlined, kernel

Codes = NDArray[np.int32]

MOST_CANDIDATES = 31
"""A mask over candidates is a positive number of 32 bits."""


def count_candidates(candidates: NDArray[np.int32]) -> NDArray[np.int64]:
    """How many candidates each node has; short rows are padded with -1."""
    return (candidates >= 0).sum(axis=1)


class ParentSets(NamedTuple):
    """What codes stand for: candidates of each node, members of outside sets (padded with -1)."""

    candidates: NDArray[np.int32]
    members: NDArray[np.int16]

    @property
    def are_narrow(self) -> bool:
        """Whether some node is not a candidate of another."""
        return bool(count_candidates(self.candidates).min() < len(self.candidates) - 1)

    def members_of(self, child: int, code: int) -> tuple[int, ...]:
        """The members of one set."""
        if code < 0:
            return tuple(int(u) for u in self.members[~code] if u >= 0)
        return tuple(int(u) for i, u in enumerate(self.candidates[child]) if code >> i & 1)

    def adjacencies(self, codes: Codes) -> NDArray[np.bool_]:
        """Matrices [parent, child] of the DAGs with these codes (draw, node)."""
        n = len(self.candidates)
        out = np.zeros((len(codes), n, n), dtype=np.bool_)
        for child, number in enumerate(count_candidates(self.candidates)):
            own = codes[:, child]
            inside = np.where(own >= 0, own, 0)[:, None] >> np.arange(number, dtype=np.int32) & 1
            out[:, self.candidates[child, :number], child] = inside.astype(np.bool_)
            outer = np.flatnonzero(own < 0)
            members = self.members[~own[outer]]
            draws, places = np.nonzero(members >= 0)
            out[outer[draws], members[draws, places], child] = True
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


def check_lists(candidates: NDArray[np.int32], least: int = 1) -> None:
    """Check that each node has at least ``least`` others, ascending; short rows end with -1."""
    n, width = candidates.shape
    require(1 <= width <= min(n - 1, MOST_CANDIDATES), "a node has too many candidates")
    numbers = count_candidates(candidates)
    require(numbers.min() >= least, "a node has no candidates")
    there = np.arange(width) < numbers[:, None]
    require(((candidates >= 0) == there).all(), "candidates have gaps")
    require((candidates[~there] == -1).all() and candidates.max() < n, "a candidate is not a node")
    is_next = (np.diff(candidates, axis=1) > 0) | ~there[:, 1:]
    require(is_next.all(), "candidates are not distinct and in order")
    require((candidates != np.arange(n)[:, None]).all(), "a node is its own candidate")


def are_acyclic(codes: Codes, parent_sets: ParentSets) -> bool:
    """Whether all graphs (..., node) are acyclic; the codes must stand for existing parent sets."""
    candidates = parent_sets.candidates.astype(np.int64)
    members = parent_sets.members.astype(np.int64)
    return bool(_are_acyclic(codes.reshape(-1, len(candidates)), candidates, members))


@kernel
def _are_acyclic(codes, candidates, members):
    """Walk from every node to its parents; meeting a node of the same walk again is a cycle."""
    n, n_candidates = candidates.shape
    state = np.empty(n, dtype=np.int8)  # 0: not met, 1: on the walk, 2: done
    walk = np.empty(n, dtype=np.int64)
    place = np.empty(n, dtype=np.int64)  # of the next parent to look at
    for d in range(codes.shape[0]):
        state[:] = 0
        for first in range(n):
            if state[first] != 0:
                continue
            depth = 0
            walk[0], place[0], state[first] = first, 0, 1
            while depth >= 0:
                v = walk[depth]
                code = codes[d, v]
                parent = -1
                if code < 0:
                    while place[depth] < members.shape[1] and parent < 0:
                        parent = members[~code, place[depth]]
                        place[depth] += 1
                else:
                    while place[depth] < n_candidates and parent < 0:
                        if code >> place[depth] & 1:
                            parent = candidates[v, place[depth]]
                        place[depth] += 1
                if parent < 0:
                    state[v] = 2
                    depth -= 1
                elif state[parent] == 1:
                    return False
                elif state[parent] == 0:
                    depth += 1
                    walk[depth], place[depth], state[parent] = parent, 0, 1
    return True


def descendants(codes: Codes, parent_sets: ParentSets, node: int) -> NDArray[np.bool_]:
    """Whether each node is this one or a descendant of it, in DAGs (draw, node) of such codes."""
    found: NDArray[np.bool_] = _descendants(codes, *parent_sets, node)
    return found


@kernel
def _descendants(codes, candidates, members, node):
    """Look for children of what has been found until there are no more."""
    n_draws, n = codes.shape
    found = np.zeros((n_draws, n), dtype=np.bool_)
    for d in range(n_draws):
        found[d, node] = True
        grows = True
        while grows:
            grows = False
            for child in range(n):
                if not found[d, child] and _has_parent_in(
                    found[d], child, codes[d, child], candidates, members
                ):
                    found[d, child] = grows = True
    return found


@inlined
def _has_parent_in(found, child, code, candidates, members):
    """Whether one of the nodes that have been found is in the parent set of this code."""
    if code < 0:
        for parent in members[~code]:
            if parent >= 0 and found[parent]:
                return True
    else:
        for place, parent in enumerate(candidates[child]):
            if code >> place & 1 and found[parent]:
                return True
    return False
