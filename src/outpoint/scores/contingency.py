"""Counting joint configurations of categorical columns, for all sets of one size.

Neighbours in colex order share their upper members, and so most of the work: the configurations of
members ``i..size-1`` are numbered once and refined by one column at a time. The lowest member,
which changes with every set, is counted only in rows where it is not at its most common level; what
is left of each configuration's total is at that level.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from outpoint.data import Dataset
from outpoint.kernels import inlined

LEAST_SENSIBLE = 3
"""Sets of so many parents are always sensible."""


def count_sensible_parents(
    cardinalities: Iterable[int], n_rows: int, *, is_child: bool = True
) -> int | None:
    """How many parents can be compared by counts of ``n_rows`` rows; None for any number.

    It is the largest number, and at least 3, for which any so many columns have no more joint
    levels than there are rows. Beyond, each row can have a cell of its own, where marginal
    likelihoods charge next to nothing for parameters: docs/math.md#sensible-parents. ``is_child``
    says that the child is one of these columns, so that not all of them can be parents.
    """
    largest = sorted(map(int, cardinalities), reverse=True)
    n_parents, n_joint = 0, 1
    for cardinality in largest:
        n_joint *= cardinality
        if n_joint > n_rows:
            break
        n_parents += 1
    n_parents = max(n_parents, LEAST_SENSIBLE)
    return n_parents if n_parents < len(largest) - is_child else None


class Table(NamedTuple):
    """Distinct rows, column by column, how often each occurs, and the levels of each column.

    ``rare_rows`` from ``rare_start[v]`` on are the rows in which column v is not at its most common
    level.
    """

    columns: NDArray[np.int32]
    counts: NDArray[np.int64]
    cardinalities: NDArray[np.int64]
    rare_start: NDArray[np.int64]
    rare_rows: NDArray[np.int32]


def merge_rows(data: Dataset) -> Table:
    """The distinct rows of a categorical data set, read-only."""
    rows, counts = np.unique(data.codes, axis=0, return_counts=True)
    columns = np.ascontiguousarray(rows.T, dtype=np.int32)
    rare = [np.flatnonzero(column != np.bincount(column).argmax()) for column in columns]
    table = Table(
        columns,
        counts.astype(np.int64),
        np.asarray(data.cardinalities, dtype=np.int64).copy(),
        np.cumsum([0, *map(len, rare)]).astype(np.int64),
        np.concatenate(rare).astype(np.int32),
    )
    for array in table:
        array.flags.writeable = False
    return table


class Numbering(NamedTuple):
    """Scratch space: ``configuration[i]`` numbers the observed states of members ``i..size-1``.

    ``n_cells[i]`` is the number of their possible states, ``totals`` the counts of the last set.
    ``left`` are the counts of the states of members ``1..size-1``, ``rest`` what remains of them;
    ``cells``, zero between uses, is for counting.
    """

    configuration: NDArray[np.int32]
    n_configurations: NDArray[np.int64]
    n_cells: NDArray[np.float64]
    totals: NDArray[np.int64]
    left: NDArray[np.int64]
    rest: NDArray[np.int64]
    cells: NDArray[np.int64]
    seen: NDArray[np.int32]


@inlined
def make_numbering(table, size):
    """Scratch space for sets of ``size`` members."""
    n_rows = table.counts.size
    return Numbering(
        np.zeros((size + 1, n_rows), dtype=np.int32),
        np.ones(size + 1, dtype=np.int64),
        np.ones(size + 1),
        np.empty(n_rows, dtype=np.int64),
        np.empty(n_rows, dtype=np.int64),
        np.empty(n_rows, dtype=np.int64),
        np.zeros(n_rows * table.cardinalities.max(), dtype=np.int64),
        np.full(n_rows * table.cardinalities.max(), -1, dtype=np.int32),
    )


@inlined
def count_states(table, members, row, is_first, numbering):
    """Fill ``totals`` with the counts of the observed states of set ``row``; return how many.

    Unless ``is_first``, the set before it in ``members`` was the last one counted.
    """
    size = members.shape[1]
    if size == 0:
        numbering.totals[0] = table.counts.sum()
        return 1
    stale = size
    if not is_first:
        while stale > 1 and members[row, stale - 1] == members[row - 1, stale - 1]:
            stale -= 1
    for i in range(stale - 1, 0, -1):
        node = members[row, i]
        numbering.n_cells[i] = numbering.n_cells[i + 1] * table.cardinalities[node]
        numbering.n_configurations[i] = _refine(
            numbering.configuration[i + 1],
            table.columns[node],
            table.cardinalities[node],
            numbering.seen,
            numbering.configuration[i],
        )
    if is_first or stale > 1:
        numbering.left[: numbering.n_configurations[1]] = 0
        for r in range(table.counts.size):
            numbering.left[numbering.configuration[1, r]] += table.counts[r]
    lowest = members[row, 0]
    numbering.n_cells[0] = numbering.n_cells[1] * table.cardinalities[lowest]
    return _count_lowest(table, lowest, numbering)


@inlined
def _count_lowest(table, node, numbering):
    """Split ``left`` by the levels of one more column into ``totals``; return how many."""
    first, last = table.rare_start[node], table.rare_start[node + 1]
    cardinality = table.cardinalities[node]
    coarse = numbering.configuration[1]
    column = table.columns[node]
    n_coarse = numbering.n_configurations[1]
    cells, totals = numbering.cells, numbering.totals
    for i in range(first, last):
        r = table.rare_rows[i]
        cells[coarse[r] * cardinality + column[r]] += table.counts[r]
    n_states = 0
    if n_coarse * cardinality <= last - first:
        for k in range(n_coarse):
            rest = numbering.left[k]
            for cell in range(k * cardinality, (k + 1) * cardinality):
                if cells[cell] > 0:
                    totals[n_states] = cells[cell]
                    n_states += 1
                    rest -= cells[cell]
                    cells[cell] = 0
            if rest > 0:
                totals[n_states] = rest
                n_states += 1
        return n_states
    return _collect_by_rows(table, node, numbering)


@inlined
def _collect_by_rows(table, node, numbering):
    """Do what :func:`_count_lowest` does where there are more cells than rows to look at."""
    cardinality = table.cardinalities[node]
    coarse = numbering.configuration[1]
    column = table.columns[node]
    cells, totals, left = numbering.cells, numbering.totals, numbering.left
    n_coarse = numbering.n_configurations[1]
    n_states = 0
    rest = numbering.rest
    for k in range(n_coarse):
        rest[k] = left[k]
    for i in range(table.rare_start[node], table.rare_start[node + 1]):
        r = table.rare_rows[i]
        cell = coarse[r] * cardinality + column[r]
        if cells[cell] > 0:
            totals[n_states] = cells[cell]
            n_states += 1
            rest[coarse[r]] -= cells[cell]
            cells[cell] = 0
    for k in range(n_coarse):
        if rest[k] > 0:
            totals[n_states] = rest[k]
            n_states += 1
    return n_states


@inlined
def _refine(coarse, column, cardinality, seen, fine):
    """Number the observed configurations of (coarse, column) consecutively; return how many."""
    n_fine = 0
    for row in range(coarse.size):
        cell = coarse[row] * cardinality + column[row]
        if seen[cell] < 0:
            seen[cell] = n_fine
            n_fine += 1
        fine[row] = seen[cell]
    for row in range(coarse.size):
        seen[coarse[row] * cardinality + column[row]] = -1
    return n_fine
