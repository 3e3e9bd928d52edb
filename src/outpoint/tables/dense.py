"""The dense part of a score table: every subset of a node's candidate parents, by bit mask.

Bit i of a mask stands for the i-th candidate; nodes may have different numbers of them. From the
scores come, by transforms over subsets, the sums and maxima that engines read: ``log_sums[v, U]``
over all S within U (order MCMC, exact), omega ``[v, j, W]`` over the S within W that contain
candidate j (partition MCMC).
"""

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
from outpoint.tables.logspace import insert_bit, max_over_subsets, sum_over_subsets
from outpoint.tables.parent_sets import count_candidates
from outpoint.tables.ranked import Rows


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
