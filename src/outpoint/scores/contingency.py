"""Counting joint configurations of categorical columns, for all sets of one size.

Neighbours in colex order share their upper members, and so most of the work: the configurations of
members ``i..size-1`` are numbered once and refined by one column at a time.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from outpoint.data import Dataset
from outpoint.kernels import kernel


class Table(NamedTuple):
    """Distinct rows, column by column, how often each occurs, and the levels of each column."""

    columns: NDArray[np.int32]
    counts: NDArray[np.int64]
    cardinalities: NDArray[np.int64]


def merge_rows(data: Dataset) -> Table:
    """The distinct rows of a categorical data set, read-only."""
    rows, counts = np.unique(data.codes, axis=0, return_counts=True)
    table = Table(
        np.ascontiguousarray(rows.T, dtype=np.int32),
        counts.astype(np.int64),
        np.asarray(data.cardinalities, dtype=np.int64).copy(),
    )
    for array in table:
        array.flags.writeable = False
    return table


class Numbering(NamedTuple):
    """Scratch space: ``configuration[i]`` numbers the observed states of members ``i..size-1``.

    ``n_cells[i]`` is the number of their possible states, ``totals`` the counts of the last set.
    """

    configuration: NDArray[np.int64]
    n_configurations: NDArray[np.int64]
    n_cells: NDArray[np.float64]
    totals: NDArray[np.int64]
    seen: NDArray[np.int64]


@kernel
def make_numbering(table, size):
    """Scratch space for sets of ``size`` members."""
    n_rows = table.counts.size
    return Numbering(
        np.zeros((size + 1, n_rows), dtype=np.int64),
        np.ones(size + 1, dtype=np.int64),
        np.ones(size + 1),
        np.empty(n_rows, dtype=np.int64),
        np.full(n_rows * table.cardinalities.max(), -1, dtype=np.int64),
    )


@kernel
def count_states(table, members, row, is_first, numbering):
    """Fill ``totals`` with the counts of the observed states of set ``row``; return how many.

    Unless ``is_first``, the set before it in ``members`` was the last one counted.
    """
    size = members.shape[1]
    stale = size
    if not is_first:
        while stale > 0 and members[row, stale - 1] == members[row - 1, stale - 1]:
            stale -= 1
    for i in range(stale - 1, -1, -1):
        node = members[row, i]
        numbering.n_cells[i] = numbering.n_cells[i + 1] * table.cardinalities[node]
        numbering.n_configurations[i] = _refine(
            numbering.configuration[i + 1],
            table.columns[node],
            table.cardinalities[node],
            numbering.seen,
            numbering.configuration[i],
        )
    n_states = numbering.n_configurations[0]
    numbering.totals[:n_states] = 0
    for r in range(table.counts.size):
        numbering.totals[numbering.configuration[0, r]] += table.counts[r]
    return n_states


@kernel
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
