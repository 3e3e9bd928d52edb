"""Rows of numbers by node, and parent sets in descending order of score.

The rows of numbers, one per node and each of its own length, share a single array. Nodes may have
different numbers of candidates, and a table over K of them has 2^K entries: most nodes need few,
and the few that need many must not make the tables of all others as long.

Parent sets in descending order of score serve to draw one and to add few terms. They are in one
flat array for all nodes: the sets of node v stand at ``start[v]..start[v+1]``. The log sum of a set
and all after it within its node lets a scan stop as soon as what is left cannot matter.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from outpoint.kernels import kernel
from outpoint.tables.logspace import log_add


class Rows:
    """The row of node v is ``values[start[v]:start[v + 1]]``; it is what indexing gives."""

    def __init__(self, values: NDArray[np.float64], start: NDArray[np.int64]) -> None:
        self.values = values
        self.start = start

    @classmethod
    def empty(cls, lengths: "Sequence[int] | NDArray[np.int64]") -> "Rows":
        """Rows of these lengths, to be filled."""
        start = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        return cls(np.empty(start[-1]), start)

    @classmethod
    def of(cls, matrix: "NDArray[np.float64] | Rows") -> "Rows":
        """The rows of a matrix; rows stay what they are."""
        if isinstance(matrix, Rows):
            return matrix
        start = np.arange(len(matrix) + 1, dtype=np.int64) * matrix.shape[1]
        return cls(np.ascontiguousarray(matrix).reshape(-1), start)

    def __len__(self) -> int:
        return len(self.start) - 1

    def __getitem__(self, index: Any) -> Any:
        """A row, or entries of it: ``rows[v]``, ``rows[v, i]``."""
        node, *rest = index if isinstance(index, tuple) else (index,)
        row = self.values[self.start[node] : self.start[node + 1]]
        return row[rest[0]] if rest else row

    def __iter__(self) -> Iterator[NDArray[np.float64]]:
        return (self[node] for node in range(len(self)))

    @property
    def matrix(self) -> NDArray[np.float64]:
        """All rows, which must be equally long, as a matrix."""
        return self.values.reshape(len(self), -1)

    @property
    def first(self) -> NDArray[np.float64]:
        """The first entry of every row."""
        return self.values[self.start[:-1]]

    @property
    def last(self) -> NDArray[np.float64]:
        """The last entry of every row."""
        return self.values[self.start[1:] - 1]

    def copy(self) -> "Rows":
        """A copy of the rows."""
        return Rows(self.values.copy(), self.start)


class MaskLists(NamedTuple):
    """Masks in rows, best first; the dense part has their scores."""

    start: NDArray[np.int64]
    mask: NDArray[np.uint32]


def rank_dense(dense: Rows) -> MaskLists:
    """The masks of every node that have a finite score, best first."""
    masks = []
    for scores in dense:
        finite = np.flatnonzero(scores > -np.inf)
        masks.append(finite[np.argsort(-scores[finite], kind="stable")].astype(np.uint32))
    return frozen(MaskLists(starts(masks), np.concatenate(masks)))


def rank_containing(ranked: MaskLists, n_candidates: int) -> MaskLists:
    """The ranking split up: row ``v * n_candidates + i`` holds v's sets with its i-th candidate.

    Rows are empty where a node has fewer than ``n_candidates``.
    """
    start = starts_from(_count_containing(ranked, n_candidates))
    mask = np.empty(start[-1], dtype=np.uint32)
    _fill_containing(ranked, n_candidates, start[:-1].copy(), mask)
    return frozen(MaskLists(start, mask))


@kernel
def _count_containing(ranked, n_candidates):
    n = ranked.start.size - 1
    counts = np.zeros(n * n_candidates, dtype=np.int64)
    for node in range(n):
        for i in range(ranked.start[node], ranked.start[node + 1]):
            mask = np.int64(ranked.mask[i])
            for position in range(n_candidates):
                counts[node * n_candidates + position] += mask >> position & 1
    return counts


@kernel
def _fill_containing(ranked, n_candidates, free, mask_out):
    n = ranked.start.size - 1
    for node in range(n):
        for i in range(ranked.start[node], ranked.start[node + 1]):
            mask = np.int64(ranked.mask[i])
            for position in range(n_candidates):
                if mask >> position & 1:
                    row = node * n_candidates + position
                    mask_out[free[row]] = ranked.mask[i]
                    free[row] += 1


def starts(parts):
    """Where each part begins, and the last one ends, when they stand one after the other."""
    return starts_from([len(part) for part in parts])


def starts_from(counts):
    """Where each part begins, and the last one ends, from the lengths of the parts."""
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def frozen(arrays):
    """A tuple of arrays, made read-only."""
    for array in arrays:
        array.flags.writeable = False
    return arrays


@kernel
def log_tails(start, score):
    """Log sum of each entry and all after it within its row."""
    out = np.empty_like(score)
    for node in range(start.size - 1):
        tail = -np.inf
        for i in range(start[node + 1] - 1, start[node] - 1, -1):
            tail = log_add(tail, score[i])
            out[i] = tail
    return out
