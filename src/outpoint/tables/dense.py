"""The dense part of a score table: every subset of a node's candidate parents, by bit mask.

Bit i of a mask stands for the i-th candidate. From the scores come, by transforms over subsets,
the sums and maxima that engines read: ``log_sums[v, U]`` over all S within U (order MCMC, exact),
``omega[v, j, W]`` over the S within W that contain candidate j (partition MCMC).
"""

import numpy as np
from numpy.typing import NDArray

from outpoint.kernels import kernel, run_chunked
from outpoint.scores import FamilyScorer, StructurePrior
from outpoint.scores.families import (
    Scores,
    binomial_table,
    family_rank,
    size_offsets,
    subsets_of_size,
)
from outpoint.tables.bits import insert_bit
from outpoint.tables.logspace import max_over_subsets, sum_over_subsets


def fill_dense(
    families: Scores, scored_parents: int, candidates: NDArray[np.int32]
) -> NDArray[np.float64]:
    """Scores by mask of all candidate subsets of at most ``scored_parents`` members, else -inf."""
    n, n_candidates = candidates.shape
    dense = np.full((n, 1 << n_candidates), -np.inf)
    binomials = binomial_table(n, scored_parents + 1)
    offsets = size_offsets(n - 1, scored_parents)
    blocks = [
        subsets_of_size(n_candidates, k) for k in range(min(scored_parents, n_candidates) + 1)
    ]

    def work(start: int, stop: int) -> None:
        for positions in blocks:
            _copy_scores(families, positions, candidates, binomials, offsets, dense, start, stop)

    run_chunked(work, n)
    return dense


@kernel
def _copy_scores(families, positions, candidates, binomials, offsets, dense, start, stop):
    """Copy the scores of the candidate subsets given by their positions, all of one size."""
    size = positions.shape[1]
    members = np.empty(size, dtype=np.int64)
    for child in range(start, stop):
        for row in range(positions.shape[0]):
            mask = 0
            for i in range(size):
                mask |= 1 << positions[row, i]
                members[i] = candidates[child, positions[row, i]]
            rank = family_rank(child, members, size, binomials, offsets)
            dense[child, mask] = families[child, rank]


def add_larger_sets(
    dense: NDArray[np.float64],
    candidates: NDArray[np.int32],
    scorer: FamilyScorer,
    prior: StructurePrior,
    sizes: range,
) -> None:
    """Score candidate subsets of the given sizes one child at a time (large n only)."""
    n, n_candidates = candidates.shape
    for size in sizes:
        positions = subsets_of_size(n_candidates, size)
        masks = (1 << positions.astype(np.int64)).sum(axis=1)
        for child in range(n):
            parents = candidates[child][positions]
            scores = scorer.families(child, parents)
            dense[child, masks] = scores + prior.log_weights(child, parents)


def subset_log_sums(dense: NDArray[np.float64]) -> NDArray[np.float64]:
    """Log sums over all subsets of every mask."""
    return _transformed(dense, sum_over_subsets)


def subset_maxima(dense: NDArray[np.float64]) -> NDArray[np.float64]:
    """Maxima over all subsets of every mask."""
    return _transformed(dense, max_over_subsets)


def _transformed(dense, transform):
    out = dense.copy()

    def work(start: int, stop: int) -> None:
        for child in range(start, stop):
            transform(out[child])

    run_chunked(work, len(out))
    return out


def containing_log_sums(dense: NDArray[np.float64]) -> NDArray[np.float64]:
    """omega: ``[v, j, W]``, W being a mask without candidate j, renumbered by ``skip_bit``."""
    return _containing(dense, sum_over_subsets)


def containing_maxima(dense: NDArray[np.float64]) -> NDArray[np.float64]:
    """``[v, j, W]``: the best score of the sets with v's j-th candidate, otherwise within W."""
    return _containing(dense, max_over_subsets)


def _containing(dense, transform):
    n, size = dense.shape
    n_candidates = size.bit_length() - 1
    out = np.empty((n, n_candidates, size // 2))

    def work(start: int, stop: int) -> None:
        for item in range(start, stop):
            child, position = divmod(item, n_candidates)
            _gather_containing(dense[child], position, out[child, position])
            transform(out[child, position])

    run_chunked(work, n * n_candidates)
    return out


@kernel
def _gather_containing(scores, position, out):
    for rest in range(out.size):
        out[rest] = scores[insert_bit(rest, position) | (1 << position)]
