"""What a search reads of a score table: maxima instead of sums, and only sets that can win.

A parent set that scores no better than one of its own subsets is never needed: wherever it is
allowed the subset is, too. Dropping such sets leaves, of the thousands of sets outside a node's
candidates, usually none or a few, so that searching beyond the candidates costs almost nothing.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from outpoint.kernels import inlined, kernel, run_chunked
from outpoint.tables import ScoreTable
from outpoint.tables.bits import insert_bit
from outpoint.tables.logspace import max_over_subsets
from outpoint.tables.view import candidate_positions

IMPOSSIBLE = -1e30
"""Score of a node without any admissible parent set: finite, so that a search can climb out."""


class SearchView(NamedTuple):
    """Read-only arrays; sets outside the candidates stand as in ``OutsideSets``, best first.

    ``bit[u, v]`` is u's bit in the masks of v, 0 if u is no candidate of v; ``position[v, u]`` is
    its number, or -1. ``containing[v, i, W]`` is the best score of a set with v's i-th candidate
    and otherwise within W (renumbered by ``skip_bit``); it is empty unless partitions are searched.
    """

    candidates: NDArray[np.int32]
    bit: NDArray[np.int32]
    position: NDArray[np.int16]
    maxima: NDArray[np.float64]
    containing: NDArray[np.float64]
    start: NDArray[np.int64]
    members: NDArray[np.int16]
    score: NDArray[np.float64]


def view_maxima(table: ScoreTable, *, containing: bool = False) -> SearchView:
    """Gather what a search needs; ``containing`` adds the large table for partitions."""
    position = candidate_positions(table.candidates)
    bit = np.where(position >= 0, 1 << np.maximum(position, 0).astype(np.int32), 0).T.astype(
        np.int32
    )
    start, members, score = _undominated(table, position)
    view = SearchView(
        table.candidates,
        np.ascontiguousarray(bit),
        position,
        table.maxima,
        containing_maxima(table.dense) if containing else np.zeros((0, 0, 0)),
        start,
        members,
        score,
    )
    for array in view:
        array.flags.writeable = False
    return view


def containing_maxima(dense: NDArray[np.float64]) -> NDArray[np.float64]:
    """``[v, i, W]``: the best score of the sets with v's i-th candidate, otherwise within W."""
    n, size = dense.shape
    n_candidates = size.bit_length() - 1
    out = np.empty((n, n_candidates, size // 2))

    def work(begin: int, end: int) -> None:
        for item in range(begin, end):
            child, position = divmod(item, n_candidates)
            _gather_containing(dense[child], position, out[child, position])
            max_over_subsets(out[child, position])

    run_chunked(work, n * n_candidates)
    return out


@kernel
def _gather_containing(scores, position, out):
    for rest in range(out.size):
        out[rest] = scores[insert_bit(rest, position) | (1 << position)]


def _undominated(
    table: ScoreTable, position: NDArray[np.int16]
) -> tuple[NDArray[np.int64], NDArray[np.int16], NDArray[np.float64]]:
    """The outside sets that score better than each of their subsets."""
    outside = table.outside
    keep = np.zeros(len(outside.score), dtype=np.bool_)
    run_chunked(
        lambda begin, end: _mark_undominated(outside, table.maxima, position, keep, begin, end),
        table.n_nodes,
    )
    counts = [
        int(keep[outside.start[child] : outside.start[child + 1]].sum())
        for child in range(table.n_nodes)
    ]
    start = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return start, outside.members[keep].copy(), outside.score[keep].copy()


@kernel
def _mark_undominated(outside, maxima, position, keep, begin, end):
    """Compare each set with its best subset of candidates and with the better outside sets kept.

    Whatever dominates a set is itself kept or dominated by a kept set that is as good, so looking
    at those is enough.
    """
    width = outside.members.shape[1]
    for child in range(begin, end):
        first, last = outside.start[child], outside.start[child + 1]
        n_kept = 0
        kept = np.empty(last - first, dtype=np.int64)
        for i in range(first, last):
            inside = 0
            for k in range(width):
                u = outside.members[i, k]
                if u >= 0 and position[child, u] >= 0:
                    inside |= 1 << position[child, u]
            dominated = maxima[child, inside] >= outside.score[i]
            j = 0
            while j < n_kept and not dominated:
                dominated = _is_subset(outside.members, kept[j], i)
                j += 1
            if not dominated:
                keep[i] = True
                kept[n_kept] = i
                n_kept += 1


@kernel
def _is_subset(members, small, large):
    """Whether all members of one row are members of another (ascending, padded with -1)."""
    k = 0
    for i in range(members.shape[1]):
        u = members[small, i]
        if u < 0:
            return True
        while k < members.shape[1] and members[large, k] >= 0 and members[large, k] < u:
            k += 1
        if k == members.shape[1] or members[large, k] != u:
            return False
    return True


@inlined
def better_outside(view, child, position, limit, moved, is_moved_allowed, best):
    """``best``, or the score of a better outside set whose members stand before ``limit``.

    Whether the node ``moved`` is allowed is said apart; -1 if there is no such node.
    """
    for i in range(view.start[child], view.start[child + 1]):
        if view.score[i] <= best:
            break
        allowed = True
        for k in range(view.members.shape[1]):
            u = view.members[i, k]
            if u < 0:
                break
            allowed = is_moved_allowed if u == moved else position[u] < limit
            if not allowed:
                break
        if allowed:
            best = view.score[i]
            break
    return best


@inlined
def finite(score):
    """``score`` with ``IMPOSSIBLE`` in place of minus infinity."""
    return max(score, IMPOSSIBLE)
