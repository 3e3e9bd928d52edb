"""The score of any one family, compiled: for searches that change single edges.

Subsets of the candidates are found by their mask; the other sets by their rank among all sets up to
their size (see ``scores.base``), in a sorted list.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from outpoint.kernels import kernel
from outpoint.scores.base import binomial_table, family_rank, size_offsets
from outpoint.tables.table import ScoreTable
from outpoint.tables.view import candidate_positions


class FamilyLookup(NamedTuple):
    """Read-only arrays; ``position[v, u]`` is u's place among the candidates of v, or -1.

    The outside sets of node v stand at ``start[v]..start[v+1]``, sorted by ``rank``.
    """

    position: NDArray[np.int16]
    mask_start: NDArray[np.int64]
    dense: NDArray[np.float64]
    start: NDArray[np.int64]
    rank: NDArray[np.int64]
    score: NDArray[np.float64]
    binomials: NDArray[np.int64]
    offsets: NDArray[np.int64]


def index_families(table: ScoreTable) -> FamilyLookup:
    """Sort the outside sets of a table by rank."""
    n = table.n_nodes
    position = candidate_positions(table.candidates)
    outside = table.outside
    width = outside.members.shape[1]
    binomials = binomial_table(n, width + 1)
    offsets = size_offsets(n - 1, width)
    rank = np.empty(len(outside.score), dtype=np.int64)
    _rank_sets(outside.start, outside.members, binomials, offsets, rank)
    score = outside.score.copy()
    for child in range(n):
        mine = slice(outside.start[child], outside.start[child + 1])
        order = np.argsort(rank[mine])
        rank[mine] = rank[mine][order]
        score[mine] = score[mine][order]
    for array in (position, rank, score):
        array.flags.writeable = False
    dense = table.dense
    return FamilyLookup(
        position, dense.start, dense.values, outside.start, rank, score, binomials, offsets
    )


@kernel
def _rank_sets(start, members, binomials, offsets, rank):
    parents = np.empty(members.shape[1], dtype=np.int64)
    for child in range(start.size - 1):
        for i in range(start[child], start[child + 1]):
            size = 0
            for u in members[i]:
                if u >= 0:
                    parents[size] = u
                    size += 1
            rank[i] = family_rank(child, parents, size, binomials, offsets)


@kernel
def family_log_score(lookup, child, parents, size):
    """Score of ``child`` with ``parents[:size]`` (ascending), -inf if it is not admissible."""
    mask = 0
    is_inside = True
    for i in range(size):
        position = lookup.position[child, parents[i]]
        if position < 0:
            is_inside = False
            break
        mask |= 1 << position
    if is_inside:
        return lookup.dense[lookup.mask_start[child] + mask]
    if size >= lookup.offsets.size - 1:
        return -np.inf
    wanted = family_rank(child, parents, size, lookup.binomials, lookup.offsets)
    low, high = lookup.start[child], lookup.start[child + 1]
    while low < high:
        middle = (low + high) // 2
        if lookup.rank[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    if low < lookup.start[child + 1] and lookup.rank[low] == wanted:
        return lookup.score[low]
    return -np.inf
