"""The parent sets that can be in a best DAG: those that score better than all their subsets.

A set that scores no better than one of its own subsets is never needed: wherever it is allowed the
subset is, too. Of the thousands of sets of a node a few dozen are usually left, so a search reads
short lists, best first, in place of tables, and knows for each node which others it can matter to.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from outpoint.kernels import inlined, kernel, run_chunked
from outpoint.tables import ScoreTable
from outpoint.tables.outside import OutsideSets
from outpoint.tables.ranked import frozen, starts
from outpoint.tables.view import candidate_positions

WORD = 64
"""Bits of a word."""

Outside = tuple[NDArray[np.int64], NDArray[np.int16], NDArray[np.float64]]


class Winners(NamedTuple):
    """The winning sets of node v stand at ``start[v]..start[v + 1]``, best first, then small first.

    The nodes that occur in them are numbered by ``slot[v, u]``, -1 if u does not occur, and sets
    are bit masks over these slots, in as many words as are needed. A pair is a node with one of its
    slots: pair ``first_pair[v] + slot`` has the node ``parent`` in that slot, and the winning sets
    that contain it are ``pair_sets`` from ``pair_start`` on, best first. ``alone[v]`` is the place
    of v's empty set, or ``start[v + 1]`` where that is not admissible.
    """

    start: NDArray[np.int64]
    score: NDArray[np.float64]
    mask: NDArray[np.int64]
    slot: NDArray[np.int16]
    first_pair: NDArray[np.int64]
    parent: NDArray[np.int64]
    pair_start: NDArray[np.int64]
    pair_sets: NDArray[np.int64]
    alone: NDArray[np.int64]


def list_winners(table: ScoreTable) -> Winners:
    """The winning sets of every node, inside and outside its candidates."""
    n = table.n_nodes
    outer_start, outer_members, outer_scores = winners_outside(table)
    contains: list[NDArray[np.bool_]] = [np.zeros((0, 0), dtype=np.bool_)] * n
    scores: list[NDArray[np.float64]] = [np.zeros(0)] * n

    def work(begin: int, end: int) -> None:
        for child in range(begin, end):
            inside = _winners_inside(table.dense[child], table.maxima[child])
            places = np.arange(table.candidates.shape[1])
            rows = np.zeros(
                (len(inside) + outer_start[child + 1] - outer_start[child], n + 1), bool
            )
            rows[: len(inside), table.candidates[child]] = (inside[:, None] >> places & 1) == 1
            outer = slice(outer_start[child], outer_start[child + 1])
            outer_rows = np.arange(len(inside), len(rows))[:, None]
            rows[outer_rows, outer_members[outer]] = True  # padding, -1, is the last column
            own = np.concatenate([table.dense[child, inside], outer_scores[outer]])
            ranked = np.lexsort((rows[:, :n].sum(axis=1), -own))
            contains[child], scores[child] = rows[ranked, :n], own[ranked]

    run_chunked(work, n)
    return _number(contains, scores)


def _number(contains: list[NDArray[np.bool_]], scores: list[NDArray[np.float64]]) -> Winners:
    """Slots, masks and pairs from the members of each node's sets, given as rows of booleans."""
    n = len(contains)
    start = starts(scores)
    parents = [np.flatnonzero(rows.any(axis=0)) for rows in contains]
    n_words = max(1, max(-(-len(own) // WORD) for own in parents))
    slot = np.full((n, n), -1, dtype=np.int16)
    mask = np.zeros((start[-1], n_words), dtype=np.int64)
    alone = start[1:].copy()
    pair_sets = []
    for child, (rows, own) in enumerate(zip(contains, parents, strict=True)):
        slot[child, own] = np.arange(len(own))
        here = mask[start[child] : start[child + 1]]
        for place, parent in enumerate(own):
            there = np.flatnonzero(rows[:, parent])
            here[there, place // WORD] |= np.left_shift(np.int64(1), place % WORD)
            pair_sets.append(start[child] + there)
        if len(rows) and not rows[-1].any():  # what is worse than the empty set does not win
            alone[child] -= 1
    return frozen(
        Winners(
            start,
            np.concatenate(scores),
            mask,
            slot,
            starts(parents),
            np.concatenate(parents),
            starts(pair_sets),
            np.concatenate([np.zeros(0, dtype=np.int64), *pair_sets]),
            alone,
        )
    )


def _winners_inside(scores: NDArray[np.float64], maxima: NDArray[np.float64]) -> NDArray[np.int64]:
    """The masks of candidates that score better than each of their subsets."""
    keep = np.zeros(len(scores), dtype=np.bool_)
    _mark_inside(scores, maxima, keep)
    return np.flatnonzero(keep)


@kernel
def _mark_inside(scores, maxima, keep):
    for mask in range(scores.size):
        wins = scores[mask] > -np.inf and scores[mask] >= maxima[mask]
        left = mask
        while wins and left:
            bit = left & -left
            wins = maxima[mask ^ bit] < scores[mask]
            left ^= bit
        keep[mask] = wins


def winners_outside(table: ScoreTable) -> Outside:
    """Starts, members and scores of the winning sets that leave the candidates, best first."""
    outside = table.outside
    position = candidate_positions(table.candidates)
    keep = np.zeros(len(outside.score), dtype=np.bool_)
    run_chunked(
        lambda begin, end: _mark_outside(outside, table.maxima, position, keep, begin, end),
        table.n_nodes,
    )
    start = _kept_starts(outside, keep)
    return start, outside.members[keep].copy(), outside.score[keep].copy()


def _kept_starts(outside: OutsideSets, keep: NDArray[np.bool_]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(keep)])[outside.start].astype(np.int64)


@kernel
def _mark_outside(outside, maxima, position, keep, begin, end):
    """Compare each set with its best subset of candidates and with the better outside sets kept.

    Whatever beats a set is itself kept or beaten by a kept set that is as good, so looking at those
    is enough. A kept set is filed under its first member outside the candidates, which any set it
    beats must have as well.
    """
    width = outside.members.shape[1]
    n = position.shape[1]
    member_of = np.full(n, -1, dtype=np.int64)
    newest = np.empty(n, dtype=np.int64)
    for child in range(begin, end):
        first = outside.start[child]
        newest[:] = -1
        older = np.empty(outside.start[child + 1] - first, dtype=np.int64)
        for i in range(first, outside.start[child + 1]):
            inside = 0
            file = -1
            for k in range(width):
                u = outside.members[i, k]
                if u < 0:
                    break
                member_of[u] = i
                if position[child, u] >= 0:
                    inside |= 1 << position[child, u]
                elif file < 0:
                    file = u
            beaten = maxima[child, inside] >= outside.score[i]
            for k in range(width):
                u = outside.members[i, k]
                if u < 0 or beaten:
                    break
                j = newest[u]
                while j >= 0 and not beaten:
                    beaten = _has_members(outside.members, j, member_of, i)
                    j = older[j - first]
            if not beaten:
                keep[i] = True
                older[i - first] = newest[file]
                newest[file] = i


@inlined
def _has_members(members, j, member_of, i):
    """Whether all members of set ``j`` are marked as members of set ``i``."""
    for k in range(members.shape[1]):
        u = members[j, k]
        if u < 0:
            break
        if member_of[u] != i:
            return False
    return True


@inlined
def fits(winners, i, allowed, row):
    """Whether winning set ``i`` lies within the slots in ``allowed[row]``."""
    for word in range(winners.mask.shape[1]):
        if winners.mask[i, word] & ~allowed[row, word]:
            return False
    return True


@inlined
def first_fitting(winners, child, allowed, row):
    """The place of the best set within ``allowed[row]``; ``start[child + 1]`` if there is none."""
    for i in range(winners.start[child], winners.start[child + 1]):
        if fits(winners, i, allowed, row):
            return i
    return winners.start[child + 1]


@inlined
def best_with(winners, child, slot, allowed, row, known):
    """The place of the best set when ``slot`` joins ``allowed[row]``, where ``known`` was best.

    The slot must have joined already; only sets that contain it can be better.
    """
    pair = winners.first_pair[child] + slot
    for j in range(winners.pair_start[pair], winners.pair_start[pair + 1]):
        i = winners.pair_sets[j]
        if i >= known:
            break
        if fits(winners, i, allowed, row):
            return i
    return known


@inlined
def best_without(winners, child, slot, allowed, row, known):
    """The place of the best set when ``slot`` leaves ``allowed[row]``, where ``known`` was best.

    The slot may still be there; if the best set does not contain it, nothing changes.
    """
    end = winners.start[child + 1]
    word, bit = slot >> 6, slot_bit(slot)
    if known == end or not winners.mask[known, word] & bit:
        return known
    for i in range(known + 1, end):
        if not winners.mask[i, word] & bit and fits(winners, i, allowed, row):
            return i
    return end


@inlined
def slot_bit(slot):
    """The bit of a slot in its word, which is word ``slot >> 6``."""
    return np.int64(1) << np.int64(slot & 63)
