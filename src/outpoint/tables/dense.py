"""The dense part of a score table: every subset of a node's candidate parents, by bit mask.

Bit i of a mask stands for the i-th candidate. There is one row of numbers per node in a single
array, each of its own length: a table over K candidates has 2^K entries, most nodes need few, and
the few that need many must not make the tables of all others as long.

From the scores come, by transforms over subsets, the sums and maxima that engines read:
``log_sums[v, U]`` over all S within U (order MCMC, exact), omega ``[v, j, W]`` over the S within W
that contain candidate j (partition MCMC).

Parent sets are also listed in descending order of score, for drawing one and for sums with few
terms, in one flat array: the sets of node v stand at ``start[v]..start[v+1]``. The log sum of a set
and all after it within its node lets a scan stop as soon as what is left cannot matter.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from outpoint.kernels import kernel, run_chunked
from outpoint.scores import FamilyScorer, StructurePrior
from outpoint.scores.base import (
    Scores,
    binomial_table,
    family_rank,
    size_offsets,
    subsets_of_size,
)
from outpoint.tables.logspace import insert_bit, log_add, max_over_subsets, sum_over_subsets
from outpoint.tables.parent_sets import count_candidates


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


def fill_dense(families: Scores, scored_parents: int, candidates: NDArray[np.int32]) -> Rows:
    """Scores by mask of all candidate subsets of at most ``scored_parents`` members, else -inf."""
    n = len(candidates)
    numbers = count_candidates(candidates)
    dense = Rows.empty(1 << numbers)
    dense.values[:] = -np.inf
    binomials = binomial_table(n, scored_parents + 1)
    offsets = size_offsets(n - 1, scored_parents)
    blocks = {
        number: [subsets_of_size(number, k) for k in range(min(scored_parents, number) + 1)]
        for number in set(numbers.tolist())
    }

    def work(start: int, stop: int) -> None:
        for child in range(start, stop):
            for positions in blocks[int(numbers[child])]:
                _copy_scores(
                    families, positions, candidates, binomials, offsets, dense[child], child
                )

    run_chunked(work, n)
    return dense


@kernel
def _copy_scores(families, positions, candidates, binomials, offsets, dense, child):
    """Copy the scores of the candidate subsets given by their positions, all of one size."""
    size = positions.shape[1]
    members = np.empty(size, dtype=np.int64)
    for row in range(positions.shape[0]):
        mask = 0
        for i in range(size):
            mask |= 1 << positions[row, i]
            members[i] = candidates[child, positions[row, i]]
        dense[mask] = families[child, family_rank(child, members, size, binomials, offsets)]


def add_larger_sets(
    dense: Rows,
    candidates: NDArray[np.int32],
    scorer: FamilyScorer,
    prior: StructurePrior,
    sizes: range,
) -> None:
    """Score candidate subsets of the given sizes one child at a time (large n only)."""
    numbers = count_candidates(candidates)
    for size in sizes:
        for number in set(numbers[numbers >= size].tolist()):
            positions = subsets_of_size(number, size)
            masks = (1 << positions.astype(np.int64)).sum(axis=1)
            for child in np.flatnonzero(numbers == number).tolist():
                parents = candidates[child][positions]
                scores = scorer.families(child, parents)
                dense[child][masks] = scores + prior.log_weights(child, parents)


def subset_log_sums(dense):
    """Log sums over all subsets of every mask, of rows or of a matrix."""
    return _transformed(dense, sum_over_subsets)


def subset_maxima(dense):
    """Maxima over all subsets of every mask, of rows or of a matrix."""
    return _transformed(dense, max_over_subsets)


def _transformed(dense, transform):
    out = dense.copy()

    def work(start: int, stop: int) -> None:
        for child in range(start, stop):
            transform(out[child])

    run_chunked(work, len(out))
    return out


def containing_log_sums(dense: Rows) -> Rows:
    """omega: row v has ``[j, W]``, W a mask without candidate j, renumbered by ``skip_bit``."""
    return _containing(dense, sum_over_subsets)


def containing_maxima(dense: Rows) -> Rows:
    """Row v has ``[j, W]``: the best score of sets with v's j-th candidate, otherwise within W."""
    return _containing(dense, max_over_subsets)


def _containing(dense, transform):
    sizes = np.diff(dense.start).tolist()
    out = Rows.empty([(size.bit_length() - 1) * (size // 2) for size in sizes])
    items = [(v, j) for v, size in enumerate(sizes) for j in range(size.bit_length() - 1)]

    def work(start: int, stop: int) -> None:
        for child, position in items[start:stop]:
            own = out[child].reshape(-1, sizes[child] // 2)[position]
            _gather_containing(dense[child], position, own)
            transform(own)

    run_chunked(work, len(items))
    return out


@kernel
def _gather_containing(scores, position, out):
    for rest in range(out.size):
        out[rest] = scores[insert_bit(rest, position) | (1 << position)]
