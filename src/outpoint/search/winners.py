"""What searches read of a score table: the parent sets that can be in a best DAG.

These are the sets that score better than all their subsets. A set that scores no better than one of
its own subsets is never needed: wherever it is allowed the subset is, too. What is left shows which
nodes can matter to which others. Of the thousands of sets that leave a node's candidates a few
dozen are usually left, so a search scans short lists for these, best first, next to one read of the
table of maxima over the candidates.

A search over partitions reads maxima in place of sums; and an order leads to its best DAG.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from outpoint.arrays import Booleans
from outpoint.kernels import inlined, kernel, run_chunked
from outpoint.tables import ScoreTable
from outpoint.tables.dense import containing_maxima, frozen, starts, starts_from
from outpoint.tables.logspace import skip_bit
from outpoint.tables.table import best_subset
from outpoint.tables.view import candidate_bits, candidate_positions

WORD = 64
"""Bits of a word."""

Outside = tuple[NDArray[np.int64], NDArray[np.int16], NDArray[np.float64]]


class Winners(NamedTuple):
    """What a search over orders reads.

    ``maxima[mask_start[v] + mask]`` is the best score within a mask of v's candidates,
    ``bit[v, u]`` the bit of u there, 0 if it is none. The winning sets of v that leave its
    candidates stand at ``start[v]..start[v + 1]``, best first, with their members padded with -1.

    The nodes that occur in winning sets of v, within its candidates or not, are numbered by
    ``slot[v, u]``, -1 if u does not occur. ``mask`` are the outside sets as bits over these slots,
    in as many words as are needed. A pair is a node with one of its slots: the outside sets of v
    with a given slot are ``pair_sets`` from ``pair_start[first_pair[v] + slot]`` on, best first.
    """

    mask_start: NDArray[np.int64]
    maxima: NDArray[np.float64]
    bit: NDArray[np.int32]
    start: NDArray[np.int64]
    members: NDArray[np.int16]
    score: NDArray[np.float64]
    slot: NDArray[np.int16]
    mask: NDArray[np.int64]
    first_pair: NDArray[np.int64]
    pair_start: NDArray[np.int64]
    pair_sets: NDArray[np.int64]


def list_winners(table: ScoreTable) -> Winners:
    """The winning sets of every node, inside and outside its candidates."""
    n = table.n_nodes
    start, members, score = _winners_outside(table)
    occurs = np.zeros((n, n + 1), dtype=np.bool_)

    def work(begin: int, end: int) -> None:
        for child in range(begin, end):
            inside = np.bitwise_or.reduce(
                _winners_inside(table.dense[child], table.maxima[child]), initial=0
            )
            own = table.candidates_of(child)
            occurs[child, own[(inside >> np.arange(len(own)) & 1) == 1]] = True
            occurs[child, members[start[child] : start[child + 1]]] = True  # padding: last column

    run_chunked(work, n)
    occurs = occurs[:, :n]
    slot = np.where(occurs, np.cumsum(occurs, axis=1) - 1, -1).astype(np.int16)
    mask, pair_start, pair_sets = _number(start, members, slot)
    first_pair = starts_from(occurs.sum(axis=1))
    return frozen(
        Winners(
            table.maxima.start,
            table.maxima.values,
            candidate_bits(table.candidates),
            start,
            members,
            score,
            slot,
            mask,
            first_pair,
            pair_start,
            pair_sets,
        )
    )


def _number(
    start: NDArray[np.int64], members: NDArray[np.int16], slot: NDArray[np.int16]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The masks of the outside sets, and the sets of each pair."""
    mask = np.zeros((len(members), max(1, -(-(int(slot.max()) + 1) // WORD))), dtype=np.int64)
    pair_sets = []
    for child in range(len(slot)):
        own = members[start[child] : start[child + 1]]
        here = mask[start[child] : start[child + 1]]
        for place, parent in enumerate(np.flatnonzero(slot[child] >= 0)):
            there = np.flatnonzero((own == parent).any(axis=1))
            here[there, place // WORD] |= np.left_shift(np.int64(1), place % WORD)
            pair_sets.append(start[child] + there)
    return mask, starts(pair_sets), np.concatenate([np.zeros(0, dtype=np.int64), *pair_sets])


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


def _winners_outside(table: ScoreTable) -> Outside:
    """Starts, members and scores of the winning sets that leave the candidates, best first."""
    outside = table.outside
    position = candidate_positions(table.candidates)
    keep = np.zeros(len(outside.score), dtype=np.bool_)
    maxima = table.maxima
    run_chunked(
        lambda begin, end: _mark_outside(
            outside, maxima.start, maxima.values, position, keep, begin, end
        ),
        table.n_nodes,
    )
    start = starts_from(keep)[outside.start]
    return start, outside.members[keep].copy(), outside.score[keep].copy()


@kernel
def _mark_outside(outside, mask_start, maxima, position, keep, begin, end):
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
            beaten = maxima[mask_start[child] + inside] >= outside.score[i]
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
def best_inside(winners, child, mask):
    """The best score of ``child`` within this mask of its candidates."""
    return winners.maxima[winners.mask_start[child] + mask]


@inlined
def fits(winners, i, allowed, row):
    """Whether outside set ``i`` lies within the slots in ``allowed[row]``."""
    for word in range(winners.mask.shape[1]):
        if winners.mask[i, word] & ~allowed[row, word]:
            return False
    return True


@inlined
def search_on(winners, child, inside, allowed, row, reached):
    """From ``reached`` on, the first outside set that fits, or scores no better than ``inside``.

    No set before ``reached`` may fit. What is found stays good when slots leave ``allowed[row]``,
    so the search can go on from there.
    """
    i = reached
    while i < winners.start[child + 1] and winners.score[i] > inside:
        if fits(winners, i, allowed, row):
            break
        i += 1
    return i


@inlined
def search_with(winners, child, slot, allowed, row, reached):
    """The first outside set that fits once ``slot`` has joined ``allowed[row]``, or ``reached``.

    No set before ``reached`` fitted, so only sets that contain the slot need be looked at.
    """
    pair = winners.first_pair[child] + slot
    for j in range(winners.pair_start[pair], winners.pair_start[pair + 1]):
        i = winners.pair_sets[j]
        if i >= reached:
            break
        if fits(winners, i, allowed, row):
            return i
    return reached


@inlined
def best_score(winners, child, inside, reached):
    """The best score, given that within the candidates and where the search outside has ended."""
    if reached < winners.start[child + 1] and winners.score[reached] > inside:
        return winners.score[reached]
    return inside


@inlined
def slot_bit(slot):
    """The bit of a slot in its word, which is word ``slot >> 6``."""
    return np.int64(1) << np.int64(slot & 63)


class SearchView(NamedTuple):
    """Read-only arrays; winning sets outside the candidates stand as in ``Winners``, best first.

    ``bit[u, v]`` is u's bit in the masks of v, 0 if u is not a candidate of v; ``position[v, u]``
    is its number, or -1. ``containing`` has, from ``containing_start[v]`` on, [i, W]: the best
    score of a set with v's i-th candidate and otherwise within W (renumbered by ``skip_bit``).
    """

    bit: NDArray[np.int32]
    position: NDArray[np.int16]
    mask_start: NDArray[np.int64]
    maxima: NDArray[np.float64]
    containing_start: NDArray[np.int64]
    containing: NDArray[np.float64]
    start: NDArray[np.int64]
    members: NDArray[np.int16]
    score: NDArray[np.float64]


def view_maxima(table: ScoreTable, winners: Winners) -> SearchView:
    """Gather what a search over partitions needs."""
    containing = containing_maxima(table.dense)
    view = SearchView(
        np.ascontiguousarray(candidate_bits(table.candidates).T),
        candidate_positions(table.candidates),
        table.maxima.start,
        table.maxima.values,
        containing.start,
        containing.values,
        winners.start,
        winners.members,
        winners.score,
    )
    return frozen(view)


@inlined
def best_containing(view, child, position, allowed):
    """The best score of ``child`` with a candidate, and otherwise with those in ``allowed``."""
    half = (view.mask_start[child + 1] - view.mask_start[child]) >> 1
    return view.containing[
        view.containing_start[child] + position * half + skip_bit(allowed, position)
    ]


def best_dag(
    table: ScoreTable, winners: Winners, order: NDArray[np.integer]
) -> tuple[Booleans, float]:
    """The best DAG of an order (parents first) and its log score, -inf if there is none."""
    n = table.n_nodes
    adjacency = np.zeros((n, n), dtype=np.bool_)
    before = np.zeros(n, dtype=np.bool_)
    log_score = 0.0
    for child in map(int, order):
        parents, score = _best_parents(table, winners, child, before)
        adjacency[parents, child] = True
        before[child] = True
        log_score += score
    return adjacency, log_score


def _best_parents(
    table: ScoreTable, winners: Winners, child: int, before: Booleans
) -> tuple[list[int], float]:
    """The best parents among the nodes ``before`` (a boolean per node), and their score."""
    candidates = table.candidates_of(child)
    allowed = int(before[candidates] @ (1 << np.arange(len(candidates))))
    best = float(table.maxima[child, allowed])
    for i in range(winners.start[child], winners.start[child + 1]):
        members = [int(u) for u in winners.members[i] if u >= 0]
        if winners.score[i] <= best:
            break
        if before[members].all():
            return members, float(winners.score[i])
    if best == -np.inf:
        return [], best
    mask = best_subset(table, child, allowed)
    chosen = [int(u) for i, u in enumerate(candidates) if mask >> i & 1]
    return chosen, float(table.dense[child, mask])
