"""Near sets: parent sets with a single member outside the candidates, and sums over them.

A node has far more outside sets than masks over its candidates, but nearly all of those that matter
have one member outside. For every node v, mask M of its candidates and node u that is not one,

    near(v, M, u) = log of the sum of exp s(v, S + u) over the S within M

is tabulated. A sum over all allowed near sets then takes one look-up for each u that is allowed,
and those of a mask stand side by side; going through a list of sets would take thousands.

Formulas: docs/math.md#near-sets.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from outpoint.kernels import kernel, run_chunked
from outpoint.tables.dense import frozen, starts_from
from outpoint.tables.logspace import log_add
from outpoint.tables.parent_sets import count_candidates
from outpoint.tables.table import ScoreTable

MOST_BYTES = 2**29
"""Room for the sums of all nodes."""

MOST_OWN_BYTES = 2**26
"""Room for the sums of one node: those with very many candidates seldom leave them."""


class NearSets(NamedTuple):
    """Sums over near sets, and their lists.

    ``others[v, j]`` is the j-th of the ``n_others[v]`` nodes that are not candidates of v; there
    are none for nodes that are not tabulated. near(v, M, u) stands at ``first[v] + M * n_others[v]
    + j`` in ``log_sums``. The sets of v with u outside stand at ``start[v * n + u]..start[v * n + u
    + 1]`` in ``mask``, the inside members, and ``place``, where they are among the outside sets,
    best first. ``outer`` is the member outside of each outside set; it is -1 if there are several,
    and for nodes that are not tabulated.
    """

    n_others: NDArray[np.int64]
    others: NDArray[np.int16]
    first: NDArray[np.int64]
    log_sums: NDArray[np.float64]
    start: NDArray[np.int64]
    mask: NDArray[np.int32]
    place: NDArray[np.int32]
    outer: NDArray[np.int16]


def tabulate_near(table: ScoreTable, position: NDArray[np.int16]) -> NearSets:
    """The near sets of a table; ``position[v, u]`` is negative unless u is a candidate of v."""
    n, outside = table.n_nodes, table.outside
    numbers = count_candidates(table.candidates)
    n_others = _tabulated(n - 1 - numbers, numbers)
    others = np.full((n, n), -1, dtype=np.int16)
    for node in np.flatnonzero(n_others).tolist():
        own = np.flatnonzero(position[node] < 0)
        others[node, : n_others[node]] = own[own != node]
    outer = np.empty(len(outside.score), dtype=np.int16)
    counts = np.zeros(n * n, dtype=np.int64)
    _find_outer(outside, position, n_others, outer, counts)
    start = starts_from(counts)
    mask, place = (np.empty(start[-1], dtype=np.int32) for _ in range(2))
    _list_sets(outside, outer, start[:-1].copy(), mask, place)
    first = starts_from(n_others << numbers)
    log_sums = np.full(first[-1], -np.inf)
    near = NearSets(n_others, others, first[:-1].copy(), log_sums, start, mask, place, outer)
    run_chunked(lambda begin, end: _fill_sums(near, numbers, outside.score, begin, end), n)
    return frozen(near)


def _tabulated(n_others: NDArray[np.int64], numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """The numbers of others of the nodes that there is room for, the smallest first; 0 else."""
    n_bytes = 8 * n_others << numbers
    ranked = np.argsort(n_bytes, kind="stable")
    fits = np.zeros(len(n_bytes), dtype=np.bool_)
    fits[ranked] = np.cumsum(n_bytes[ranked]) <= MOST_BYTES
    return np.where(fits & (n_bytes <= MOST_OWN_BYTES), n_others, 0)


@kernel
def _find_outer(outside, position, n_others, outer, counts):
    """Find the member outside of every set, and count the sets that have only one."""
    n = outside.start.size - 1
    for node in range(n):
        for place in range(outside.start[node], outside.start[node + 1]):
            n_outer = 0
            outer[place] = -1
            for u in outside.members[place]:
                if u >= 0 and position[node, u] < 0:
                    n_outer += 1
                    outer[place] = u
            if n_outer > 1 or n_others[node] == 0:
                outer[place] = -1
            else:
                counts[node * n + outer[place]] += 1


@kernel
def _list_sets(outside, outer, end, masks, places):
    """List the near sets by the member outside; they stay in order, best first."""
    n = outside.start.size - 1
    for node in range(n):
        for place in range(outside.start[node], outside.start[node + 1]):
            if outer[place] >= 0:
                own = node * n + outer[place]
                masks[end[own]] = outside.inside[place]
                places[end[own]] = place
                end[own] += 1


@kernel
def _fill_sums(near, n_candidates, score, begin, end):
    """Sum over subsets for the nodes from ``begin`` on, all members outside at once."""
    n = near.n_others.size
    for node in range(begin, end):
        width, first = near.n_others[node], near.first[node]
        for j in range(width):
            row = node * n + near.others[node, j]
            for i in range(near.start[row], near.start[row + 1]):
                near.log_sums[first + near.mask[i] * width + j] = score[near.place[i]]
        size = width << n_candidates[node]
        step = width
        while step < size:
            for block in range(first, first + size, 2 * step):
                for low in range(block, block + step):
                    near.log_sums[low + step] = log_add(
                        near.log_sums[low + step], near.log_sums[low]
                    )
            step *= 2
