"""Families: a child and one of its possible parent sets, and where its score is stored.

All parent sets of at most ``max_parents`` nodes are kept in one flat array per child: by size,
and within a size in colexicographic order, so that the place of a set is a sum of binomial
coefficients and no search is needed. For child ``v`` the other nodes are renumbered ``0..n-2``
by leaving out ``v``.
"""

from functools import cache
from itertools import accumulate
from math import comb

import numpy as np
from numpy.typing import NDArray

from outpoint.kernels import kernel

Scores = NDArray[np.float64]
Members = NDArray[np.int16]


def count_subsets(n_items: int, max_size: int) -> int:
    """Number of subsets of ``n_items`` things with at most ``max_size`` members."""
    return sum(comb(n_items, size) for size in range(max_size + 1))


@cache
def binomial_table(n_items: int, max_size: int) -> NDArray[np.int64]:
    """Binomial coefficients ``table[c, k] = C(c, k)`` used to rank sets."""
    rows = [[comb(c, k) for k in range(max_size + 2)] for c in range(n_items + 1)]
    table = np.array(rows, dtype=np.int64)
    table.flags.writeable = False
    return table


@cache
def size_offsets(n_items: int, max_size: int) -> NDArray[np.int64]:
    """Where the sets of each size start in the flat numbering; the last entry is their number."""
    counts = accumulate((comb(n_items, size) for size in range(max_size + 1)), initial=0)
    offsets = np.array(list(counts), dtype=np.int64)
    offsets.flags.writeable = False
    return offsets


def subsets_of_size(n_items: int, size: int) -> Members:
    """All subsets of ``0..n_items-1`` with ``size`` members, ascending, in colex order."""
    out = np.empty((comb(n_items, size), size), dtype=np.int16)
    _fill_subsets(out)
    return out


@kernel
def _fill_subsets(out):
    n_sets, size = out.shape
    if size == 0:
        return
    current = np.arange(size)
    for row in range(n_sets):
        for i in range(size):
            out[row, i] = current[i]
        # The next set in colex order: raise the first member that has room above it.
        i = 0
        while i < size - 1 and current[i] + 1 == current[i + 1]:
            current[i] = i
            i += 1
        current[i] += 1


@kernel
def subset_rank(members, size, binomials, offsets):
    """Place of an ascending set in the flat numbering of its item range."""
    rank = offsets[size]
    for i in range(size):
        rank += binomials[members[i], i + 1]
    return rank


@kernel
def family_rank(child, parents, size, binomials, offsets):
    """Place of an ascending parent set (node numbers) among the sets of this child."""
    rank = offsets[size]
    for i in range(size):
        parent = parents[i]
        rank += binomials[parent - 1 if parent > child else parent, i + 1]
    return rank


@kernel
def _differences(
    set_scores, members, is_wanted, binomials, set_offsets, family_offsets, out, start, stop
):
    """``out[v, Pa] = F(Pa + v) - F(Pa)`` for the sets ``members[start:stop]`` of one size.

    Only children that are wanted.
    """
    size = members.shape[1]
    rest = np.empty(size, dtype=np.int16)
    for row in range(start, stop):
        total = set_scores[set_offsets[size] + row]
        for skipped in range(size):
            if not is_wanted[members[row, skipped]]:
                continue
            for i in range(size - 1):
                rest[i] = members[row, i if i < skipped else i + 1]
            child = members[row, skipped]
            parents_score = set_scores[subset_rank(rest, size - 1, binomials, set_offsets)]
            place = family_rank(child, rest, size - 1, binomials, family_offsets)
            out[child, place] = total - parents_score
